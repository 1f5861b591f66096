// Finds out how a terminal draws characters of ambiguous width, in one column or in two: by a
// variable, else by writing one and asking where the cursor is, as vim does.
import type { Env } from '../../connection/data-folder.ts';
import { setAmbiguousWide } from '../../client/render/width.ts';
import { UsageError } from '../errors.ts';

/** Written at the start of a row; the answer is the column behind the character. */
const QUERY = '…\u001b[6n';
const VARIABLE = 'PERDURE_AMBIGUOUS_WIDTH';

export type WidthQuery = {
  readonly query: string;
  /** Takes the column behind the character; returns false when nothing is new. */
  answer(column: number): boolean;
};

/** Returns null where the variable says it. Throws UsageError for another value than 1 or 2. */
export function ambiguousWidth(env: Env): WidthQuery | null {
  const given = env[VARIABLE];
  if (given !== undefined && given !== '' && given !== '1' && given !== '2')
    throw new UsageError(`${VARIABLE} is "${given}": set it to 1 or 2, the columns of characters such as …`);
  let isWide = given === '2';
  setAmbiguousWide(isWide);
  if (given) return null;
  return {
    query: QUERY,
    answer: (column) => {
      if ((column !== 2 && column !== 3) || isWide === (column === 3)) return false;
      isWide = column === 3;
      setAmbiguousWide(isWide);
      return true;
    },
  };
}
