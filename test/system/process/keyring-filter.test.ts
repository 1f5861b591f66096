// The filter that keeps confined commands from the kernel's keyrings, run as the kernel runs it.
import { expect, test } from 'vitest';
import { keyringFilter } from '../../../system/process/keyring-filter.mjs';

const ALLOWED = 0x7fff0000;
const NOT_THERE = 0x00050026;

/** Returns the filter's answer to a call of a system. */
function ask(filter: Buffer, system: number, call: number): number | undefined {
  const data = new Map([
    [0, call],
    [4, system],
  ]);
  let value = 0;
  for (let at = 0; at * 8 < filter.length; at++) {
    const code = filter.readUInt16LE(at * 8);
    const operand = filter.readUInt32LE(at * 8 + 4);
    const isTrue = { 0x15: value === operand, 0x35: value >= operand, 0x25: value > operand }[code];
    if (code === 0x20) value = data.get(operand) ?? 0;
    else if (code === 0x54) value = (value & operand) >>> 0;
    else if (code === 0x06) return operand;
    else at += filter.readUInt8(at * 8 + (isTrue ? 2 : 3));
  }
  return undefined;
}

test.runIf(process.platform === 'linux').each([
  ['x64', 0xc000003e, [248, 249, 250, 0x40000000 + 250], [0, 247, 251, 435, 0x40000000 + 247]],
  ['x64', 0x40000003, [286, 287, 288], [0, 250, 285, 289]],
  ['x64', 0xc00000b7, [], [217, 250, 288]],
  ['arm64', 0xc00000b7, [217, 218, 219], [0, 216, 220, 250]],
  ['arm64', 0x40000028, [309, 310, 311], [0, 308, 312]],
] as const)('on %s a call of the system %i finds no keyrings, and all else', (arch, system, closed, open) => {
  const filter = keyringFilter(arch) ?? Buffer.of();
  for (const call of closed) expect(ask(filter, system, call), String(call)).toBe(NOT_THERE);
  for (const call of open) expect(ask(filter, system, call), String(call)).toBe(ALLOWED);
});

test('there is none for a processor whose calls are not known', () => {
  expect(keyringFilter('mips')).toBeNull();
});
