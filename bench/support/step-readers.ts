/**
 * One extraction from the payload of a model's step, by our reader and by two libraries: status, text, thinking and usage.
 * Field numbers: docs/protocols/agy-database.md.
 */

import { create, createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import {
	type FieldDescriptorProto,
	FieldDescriptorProto_Label,
	FieldDescriptorProto_Type,
	FileDescriptorProtoSchema,
	FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { PbfReader } from "pbf";
import { WireReader } from "../../src/workers/decode/protobuf.ts";
import { message } from "../../tests/support/protobuf-writer.ts";

export type StepExtract = {
	status: number;
	text: string;
	thinking: string;
	inputTokens: number;
	outputTokens: number;
};

/** A finished model call: metadata with usage, the text twice, thinking, and agy's opaque signature beside them. */
export function stepPayload(text: string): Uint8Array {
	const usage = message([1, 7], [2, 12_345], [3, 678], [4, 90], [11, "response-1"]);
	const metadata = message([1, message([1, 1_790_000_000], [2, 123_456_789])], [9, usage], [20, "trajectory"]);
	const planner = message(
		[1, text],
		[3, `thinking about ${text.slice(0, 200)}`],
		[8, text],
		[14, new Uint8Array(1_500)],
	);
	return message([1, 15], [4, 3], [5, metadata], [20, planner]);
}

export function readOurs(payload: Uint8Array): StepExtract {
	const found = emptyExtract();
	const reader = new WireReader(payload);
	while (reader.next()) {
		if (reader.field === 4) found.status = reader.uint(0);
		else if (reader.field === 5 && reader.enter()) takeMetadata(reader, found);
		else if (reader.field === 20 && reader.enter()) takePlanner(reader, found);
	}
	return found;
}

function takeMetadata(reader: WireReader, found: StepExtract): void {
	while (reader.next()) if (reader.field === 9 && reader.enter()) takeUsage(reader, found);
	reader.leave();
}

function takeUsage(reader: WireReader, found: StepExtract): void {
	while (reader.next()) {
		if (reader.field === 2) found.inputTokens = reader.uint(0);
		else if (reader.field === 3) found.outputTokens = reader.uint(0);
	}
	reader.leave();
}

function takePlanner(reader: WireReader, found: StepExtract): void {
	while (reader.next()) {
		if (reader.field === 1) found.text = reader.text("");
		else if (reader.field === 3) found.thinking = reader.text("");
	}
	reader.leave();
}

export function readWithPbf(payload: Uint8Array): StepExtract {
	return new PbfReader(payload).readFields(readStep, emptyExtract());
}

function readStep(tag: number, found: StepExtract, pbf: PbfReader): void {
	if (tag === 4) found.status = pbf.readVarint();
	else if (tag === 5) pbf.readMessage(readMetadata, found);
	else if (tag === 20) pbf.readMessage(readPlanner, found);
}

function readMetadata(tag: number, found: StepExtract, pbf: PbfReader): void {
	if (tag === 9) pbf.readMessage(readUsage, found);
}

function readUsage(tag: number, found: StepExtract, pbf: PbfReader): void {
	if (tag === 2) found.inputTokens = pbf.readVarint();
	else if (tag === 3) found.outputTokens = pbf.readVarint();
}

function readPlanner(tag: number, found: StepExtract, pbf: PbfReader): void {
	if (tag === 1) found.text = pbf.readString();
	else if (tag === 3) found.thinking = pbf.readString();
}

/** @bufbuild/protobuf by descriptors, without generated code. Only the wanted fields are declared. */
export function bufbuildReader(): (payload: Uint8Array) => StepExtract {
	const schema = stepSchema();
	return (payload) => {
		// Messages of a schema made at run time have no static type.
		const step = fromBinary(schema, payload) as unknown as {
			readonly status: number;
			readonly metadata?: { readonly usage?: { readonly input: number; readonly output: number } };
			readonly planner?: { readonly text: string; readonly thinking: string };
		};
		return {
			status: step.status,
			text: step.planner?.text ?? "",
			thinking: step.planner?.thinking ?? "",
			inputTokens: step.metadata?.usage?.input ?? 0,
			outputTokens: step.metadata?.usage?.output ?? 0,
		};
	};
}

function stepSchema() {
	const { UINT32, STRING, MESSAGE } = FieldDescriptorProto_Type;
	const file = create(FileDescriptorProtoSchema, {
		name: "step.proto",
		syntax: "proto3",
		messageType: [
			{ name: "Usage", field: [field("input", 2, UINT32), field("output", 3, UINT32)] },
			{ name: "Metadata", field: [field("usage", 9, MESSAGE, ".Usage")] },
			{ name: "Planner", field: [field("text", 1, STRING), field("thinking", 3, STRING)] },
			{
				name: "Step",
				field: [
					field("status", 4, UINT32),
					field("metadata", 5, MESSAGE, ".Metadata"),
					field("planner", 20, MESSAGE, ".Planner"),
				],
			},
		],
	});
	const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: [file] }));
	const schema = registry.getMessage("Step");
	if (!schema) throw new Error("the descriptor of the step is not there");
	return schema;
}

function field(name: string, number: number, type: FieldDescriptorProto_Type, typeName = "") {
	const { OPTIONAL: label } = FieldDescriptorProto_Label;
	return { name, number, type, label, ...(typeName !== "" && { typeName }) } satisfies Partial<FieldDescriptorProto>;
}

function emptyExtract(): StepExtract {
	return { status: 0, text: "", thinking: "", inputTokens: 0, outputTokens: 0 };
}
