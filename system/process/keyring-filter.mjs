// What the kernel asks about each system call of a confined command: those of its keyrings, which
// are the user's, are not there. It is a program for the kernel's filter (seccomp), of instructions
// of eight bytes: code, jumps when true and when false, operand.

/**
 * How a system is named in calls, and the numbers of `add_key`, `request_key` and `keyctl`, which
 * follow each other; its 32-bit calls as well.
 */
const CALLS = {
  x64: [
    [0xc000003e, 248, 250],
    [0x40000003, 286, 288],
  ],
  arm64: [
    [0xc00000b7, 217, 219],
    [0x40000028, 309, 311],
  ],
  riscv64: [[0xc00000f3, 217, 219]],
};

const [LOAD, AND, EQUAL, AT_LEAST, OVER, ANSWER] = [0x20, 0x54, 0x15, 0x35, 0x25, 0x06];
const [NUMBER_AT, SYSTEM_AT] = [0, 4];
/** Calls of x32 have a bit of their own. */
const WITHOUT_X32 = 0xbfffffff;
const ALLOW = 0x7fff0000;
/** ENOSYS: as a kernel without keyrings answers. */
const NOT_THERE = 0x00050000 | 38;

/**
 * Null for a processor whose numbers are not known here.
 * @param {string} arch
 */
export function keyringFilter(arch = process.arch) {
  const systems = CALLS[/** @type {keyof typeof CALLS} */ (arch)];
  if (process.platform !== 'linux' || !systems) return null;
  const blocks = systems.map(([system = 0, first = 0, last = 0]) => [
    instruction(LOAD, SYSTEM_AT),
    instruction(EQUAL, system, 0, 6),
    instruction(LOAD, NUMBER_AT),
    instruction(AND, WITHOUT_X32),
    instruction(AT_LEAST, first, 0, 2),
    instruction(OVER, last, 1, 0),
    instruction(ANSWER, NOT_THERE),
    instruction(ANSWER, ALLOW),
  ]);
  return Buffer.concat([...blocks.flat(), instruction(ANSWER, ALLOW)]);
}

/**
 * @param {number} code
 * @param {number} operand
 * @param {number} whenTrue instructions to pass over
 * @param {number} whenFalse
 */
function instruction(code, operand, whenTrue = 0, whenFalse = 0) {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(whenTrue, 2);
  bytes.writeUInt8(whenFalse, 3);
  bytes.writeUInt32LE(operand >>> 0, 4);
  return bytes;
}

/** What bubblewrap is told first, and reads from the descriptor that it names. */
export const FILTERED = ['--seccomp', '3'];
