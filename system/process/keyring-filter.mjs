// Builds a seccomp program for confined commands, for which the kernel's keyrings, which are the
// user's, do not exist. Its instructions have eight bytes: code, jumps when true and when false,
// operand.

/**
 * For each processor, the names of its call conventions (64 bits and 32) and the first and last
 * number of `add_key`, `request_key` and `keyctl`, which follow each other.
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

/** Codes of instructions. */
const LOAD = 0x20;
const AND = 0x54;
const EQUAL = 0x15;
const AT_LEAST = 0x35;
const OVER = 0x25;
const ANSWER = 0x06;
/** Offsets into what the kernel says of a call. */
const NUMBER_AT = 0;
const SYSTEM_AT = 4;
/** Clears the bit that marks calls of x32. */
const WITHOUT_X32 = 0xbfffffff;
const ALLOW = 0x7fff0000;
/** Answers ENOSYS, as a kernel without keyrings does. */
const NOT_THERE = 0x00050000 | 38;

/**
 * Returns null for a processor whose numbers are not known here.
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

/** The first arguments of bubblewrap, which reads the filter from the descriptor that they name. */
export const FILTERED = ['--seccomp', '3'];
