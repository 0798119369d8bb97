/**
 * The timeouts, intervals and size caps that shape the pipeline, each with its unit and its reason. A number that matters
 * to one file alone stands at the head of that file.
 */

/** Bumped with every incompatible change of messages.ts; a lane built from other sources refuses to start. */
export const CONTRACT_VERSION = 3;

// --- bytes and lines -------------------------------------------------------------------------------------------------

/** agy promises no line limit; tool output makes lines of several MiB. Beyond this a line is dropped to its LF. */
export const MAX_LINE_BYTES = 32 * 1024 * 1024;
/** Levels of a step's arguments that are kept: more than any tool has, far less than an encoder's stack takes. */
export const MAX_NESTING = 100;
/** So much of an answer has to come again, with more behind it, before it counts as sent again and is not repeated. */
export const RESEND_MIN_CHARS = 32;
/** An answer that came in true pieces for this long will not be sent again; its text is not kept any longer. */
export const RESEND_MAX_CHARS = 64 * 1024;
/** How much of a rejected line is shown to a person. */
export const REJECTED_SAMPLE_CHARS = 120;
/** The end of agy's stderr that is kept for error messages. */
export const STDERR_TAIL_CHARS = 8 * 1024;
/** The most of a step's output that one tool result carries into pi's transcript. */
export const STEP_OUTPUT_CHARS = 50_000;

// --- lanes -----------------------------------------------------------------------------------------------------------

/** Decode lanes never exceed this, however many cores there are: one lane carries dozens of links. */
export const MAX_DECODE_LANES = 4;
/** What a card of a running step shows of its output: some 100 lines, sent to the screen with each piece. */
export const LIVE_OUTPUT_CHARS = 8_000;
/** A lane with this many links counts as busy; the next link may start another lane. */
export const LINKS_PER_LANE = 8;
/** Coalescing while few links stream: short against a person's perception, long against the cost of a frame. */
export const TICK_MS = 8;
/** The longest coalescing: one frame of a 30 Hz display. */
export const MAX_TICK_MS = 33;
/** Each link that streams lengthens the tick by this much. */
export const TICK_MS_PER_BUSY_LINK = 2;
/** A link silent for this long is quiet: its next event is flushed at once. Models stream 10 tokens a second and more. */
export const QUIET_AFTER_MS = 250;
/** A frame is posted early once it carries this many input bytes, so that main never unpacks a huge one. */
export const FRAME_BYTES = 64 * 1024;
/** Input bytes of one link that main has not acknowledged; above it the lane pauses that link's pipes. */
export const HIGH_WATER_BYTES = 256 * 1024;
/** Below it a paused link is resumed. */
export const LOW_WATER_BYTES = 64 * 1024;
/** A control call that takes longer means a lane that hangs. */
export const CONTROL_TIMEOUT_MS = 2_000;
/** From asking for a thread to its hello; type stripping on a loaded 2-core machine takes up to a second. */
export const LANE_START_TIMEOUT_MS = 20_000;
/** How often a thread notes how late its timers fire: ten wake-ups a second, and nothing shorter is felt. */
export const LOOP_DELAY_INTERVAL_MS = 100;
/** After this many crashes within CRASH_WINDOW_MS a lane kind stays down. */
export const MAX_CRASHES = 3;
export const CRASH_WINDOW_MS = 60_000;

// --- agy processes ---------------------------------------------------------------------------------------------------

/** The oldest agy whose stdin takes stream-json in the known form. */
export const MIN_AGY_VERSION = "1.1.15";
/** The oldest agy whose conversations are SQLite databases. */
export const MIN_LEGACY_AGY_VERSION = "1.0.4";
/** Below this agy works with known defects. */
export const WARN_AGY_VERSION = "1.1.22";
/** `agy --version` answers in about 100 ms; a first start from a cold disk takes longer. */
export const PROBE_TIMEOUT_MS = 10_000;
export const PROBE_MAX_BYTES = 64 * 1024;
/** A file that stays the same may be a script in front of another agy: after this long it is asked again. */
export const PROBE_FRESH_MS = 60 * 60_000;
/** `agy models` takes 2 to 12 s when it works; beyond 8 s the cached or built-in list serves better. */
export const MODELS_TIMEOUT_MS = 8_000;
export const MODELS_MAX_BYTES = 1024 * 1024;
/** A model list older than this is refreshed in the background. */
export const MODELS_FRESH_MS = 5 * 60_000;
/** After closing stdin an idle agy exits on its own. */
export const EOF_GRACE_MS = 1_500;
/** After SIGINT agy reports `interrupted` within about a second. */
export const INTERRUPT_GRACE_MS = 2_000;
/** Between SIGTERM and SIGKILL. */
export const TERM_GRACE_MS = 750;
/** After exit, how long an output may stay open and bring nothing: a grandchild can hold it for ever. */
export const EOF_AFTER_EXIT_MS = 500;
/** The same while it does bring something, which is not agy's any more. */
export const EOF_AFTER_EXIT_MAX_MS = 5_000;
/** All of shutdown; pi awaits the handler without a limit of its own. */
export const SHUTDOWN_TIMEOUT_MS = 4_000;
/** Idle links kept for reuse over all sessions of the process. */
export const MAX_IDLE_LINKS = 8;
/** Running links; above it a turn waits visibly. */
export const MAX_RUNNING_LINKS = 64;
/** An idle link is closed after this long. */
export const LINK_IDLE_MS = 10 * 60_000;

// --- conversation databases ------------------------------------------------------------------------------------------

/** A database is looked at this often when nothing tells of a commit. */
export const POLL_INTERVAL_MS = 250;
/** A notification can come before its commit is visible; looked at again 1, 2 or 5 ms later, 0 of 390 were missed. */
export const POLL_RECHECK_MS = 3;
/** Looks after the process has ended: what it committed last may become visible then. */
export const TRAILING_LOOKS = 3;
export const TRAILING_LOOK_MS = 100;
/** Every so many milliseconds it is checked that the file at the path is still the one that is open. */
export const REPLACED_CHECK_MS = 2_000;

// --- voice -----------------------------------------------------------------------------------------------------------

/** Levels are reported this often: a bar that moves, and no more than 20 frames a second. */
export const LEVEL_INTERVAL_MS = 50;
/** An audio lane without a recording ends after this long: a person who records once does so again. */
export const AUDIO_LANE_IDLE_MS = 60_000;

// --- turns -----------------------------------------------------------------------------------------------------------

/** Silence of agy inside a turn, in minutes. Sign-in and MCP start-up alone take up to two minutes. */
export const INACTIVITY_TIMEOUT_MIN = 5;
/** A whole turn without a terminal to stop it from, in minutes. */
export const HEADLESS_TURN_TIMEOUT_MIN = 20;
/** agy silently drops a message above about 25 KB; counted in bytes of the encoded line. */
export const MAX_PROMPT_LINE_BYTES = 20_000;
/** pi's transcript in a context file: some 100,000 tokens. */
export const TRANSCRIPT_CHARS = 400_000;
export const TRANSCRIPT_TOOL_RESULT_CHARS = 4_000;
/** What agy missed, beside a prompt. */
export const DIGEST_CHARS = 8_000;
/** A resumed agy names its conversation before it reads a prompt, 5 to 12 s after its start; older ones only afterwards. */
export const READY_WAIT_MS = 15_000;
/** How often a silent turn is given another such time while a command of agy is seen running. */
export const MAX_SILENCE_EXTENSIONS = 12;
/** With a tool running and agy silent for this long, its transcript is looked at for a finished answer. */
export const WITHHELD_AFTER_MS = 3_000;
/** The same with no tool running: a model call may be silent for a while before it ends. */
export const WITHHELD_IDLE_AFTER_MS = 10_000;
export const TRANSCRIPT_POLL_MS = 1_000;
/** How long a success without an answer waits for the transcript to bring it: two looks and some. */
export const TRANSCRIPT_LOOKUP_MS = 2_500;
export const TRANSCRIPT_TAIL_BYTES = 512 * 1024;
/** agy's own print timeout is set out of the way of ours. */
export const PRINT_TIMEOUT = "24h";
