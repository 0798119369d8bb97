/** Who answers a call of one session: the bridge itself when it asks for a skill or a late result, otherwise pi. */

import type { BridgeEndpoint, BridgeTool } from "./mcp-server.ts";
import { type ParkedCalls, POLL_TOOL } from "./parked-calls.ts";
import { activateSkill, type BridgeSkill, SKILL_TOOL } from "./skills.ts";

type SessionEndpointOptions = {
	readonly name: string;
	/** Made anew at every call: see catalog.ts. */
	readonly catalog: () => readonly BridgeTool[];
	/** pi's skills of this moment. */
	readonly skills: () => readonly BridgeSkill[];
	readonly parked: ParkedCalls;
};

export function toSessionEndpoint({ name, catalog, skills, parked }: SessionEndpointOptions): BridgeEndpoint {
	return {
		name,
		list: catalog,
		call: async (call) => {
			if (call.tool === POLL_TOOL) return parked.poll(call.args);
			if (call.tool === SKILL_TOOL) return activateSkill(skills(), call.args);
			return parked.call(call);
		},
	};
}
