// What a fire prints: lines with their seconds, and at the end each claim with its counts.
const MOST_FAULTS = 10;

/** `faults`: sentences, one for each thing that does not hold. */
export type Row = { readonly claim: string; readonly counts: string; readonly faults: readonly string[] };

const started = Date.now();

export const say = (line: string): void => {
  process.stdout.write(`${((Date.now() - started) / 1_000).toFixed(0).padStart(5)} s  ${line}\n`);
};

/** Returns the exit status. */
export function report(rows: readonly Row[], seed: number): number {
  for (const { claim, counts, faults } of rows) {
    say(`${faults.length === 0 ? 'holds' : 'FAILS'}  ${claim}: ${counts}`);
    for (const fault of faults.slice(0, MOST_FAULTS)) say(`         ${fault}`);
    if (faults.length > MOST_FAULTS) say(`         and ${faults.length - MOST_FAULTS} more`);
  }
  const failing = rows.filter(({ faults }) => faults.length > 0);
  say(failing.length === 0 ? `seed ${seed}: all hold` : `seed ${seed}: ${failing.length} do not hold`);
  return failing.length === 0 ? 0 : 1;
}
