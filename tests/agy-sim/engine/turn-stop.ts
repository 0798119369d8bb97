/** Why a turn was stopped from outside; every wait inside the turn rejects with it. */
export class TurnStop extends Error {
	readonly why: "interrupted" | "print-timeout";

	constructor(why: "interrupted" | "print-timeout") {
		super(why);
		this.why = why;
	}
}
