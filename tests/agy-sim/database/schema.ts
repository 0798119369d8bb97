/**
 * The tables of a conversation database: seven, and two indexes, the same in every version that is documented. A scenario
 * may leave some out or add some, as another version could.
 */

export type SchemaVariant = {
	/** Columns of `steps` that are missing. */
	readonly withoutColumns?: readonly string[];
	readonly withoutTables?: readonly string[];
	/** Further columns of `steps`, as declared: "subagent_info blob". */
	readonly extraColumns?: readonly string[];
	/** Further tables, each with one `data` column. */
	readonly extraTables?: readonly string[];
	/** Default 1. */
	readonly userVersion?: number;
};

/** Name to declaration, in the order of the columns. */
const STEP_COLUMNS: Readonly<Record<string, string>> = {
	idx: "integer",
	step_type: "integer NOT NULL DEFAULT 0",
	status: "integer NOT NULL DEFAULT 0",
	has_subtrajectory: "numeric NOT NULL DEFAULT false",
	metadata: "blob",
	error_details: "blob",
	permissions: "blob",
	task_details: "blob",
	render_info: "blob",
	step_payload: "blob",
	step_format: "integer NOT NULL DEFAULT 0",
};

/** Statements in the order they are run, each a commit of its own. */
export function schemaStatements(variant: SchemaVariant): readonly string[] {
	const { withoutTables = [], extraTables = [] } = variant;
	const tables: Readonly<Record<string, string>> = {
		trajectory_meta:
			"`trajectory_id` text,`cascade_id` text,`trajectory_type` integer,`source` integer,PRIMARY KEY (`trajectory_id`)",
		steps: stepColumns(variant),
		gen_metadata: "`idx` integer,`data` blob,`size` integer NOT NULL DEFAULT 0,PRIMARY KEY (`idx`)",
		executor_metadata: "`idx` integer,`data` blob,PRIMARY KEY (`idx`)",
		parent_references: "`idx` integer,`data` blob,PRIMARY KEY (`idx`)",
		trajectory_metadata_blob: '`id` text DEFAULT "main",`data` blob,PRIMARY KEY (`id`)',
		battle_mode_infos: "`idx` integer,`data` blob,PRIMARY KEY (`idx`)",
	};
	const statements: string[] = [];
	for (const [name, columns] of Object.entries(tables)) {
		if (withoutTables.includes(name)) continue;
		statements.push(`CREATE TABLE \`${name}\` (${columns})`);
		if (name !== "steps") continue;
		for (const column of ["status", "step_type"]) {
			if (variant.withoutColumns?.includes(column)) continue;
			statements.push(`CREATE INDEX \`idx_steps_${column}\` ON \`steps\`(\`${column}\`)`);
		}
	}
	for (const name of extraTables) statements.push(`CREATE TABLE \`${name}\` (\`idx\` integer,\`data\` blob)`);
	statements.push(`PRAGMA user_version = ${variant.userVersion ?? 1}`);
	return statements;
}

function stepColumns({ withoutColumns = [], extraColumns = [] }: SchemaVariant): string {
	const columns = Object.entries(STEP_COLUMNS)
		.filter(([name]) => !withoutColumns.includes(name))
		.map(([name, type]) => `\`${name}\` ${type}`);
	return [...columns, ...extraColumns, "PRIMARY KEY (`idx`)"].join(",");
}
