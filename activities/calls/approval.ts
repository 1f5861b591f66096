// Approvals as values (L55): what is asked about a call, and with which input it runs once someone
// has decided.
import type { Ask, Decision } from '../../workflows/contract/activities.ts';
import { type Hash, isHash } from '../../workflows/contract/ids.ts';
import type { CallLog } from '../../store/log/entries.ts';
import { StoreError, type Store } from '../../store/values/store.ts';
import type { Judged } from './check-call.ts';
import { inputHash, recordAsked, wasAsked } from './journal.ts';
import { clip } from '../../system/text.ts';
import { isDeeperThan, DEEPEST_INPUT } from '../../system/json.ts';
import { askReason } from '../../tools/rules/permission.ts';
import type { Verdict } from './verdict.ts';
import type { Asked, CallRequest, CallRun, Workbench } from './workbench.ts';

type Allowed = Extract<Decision, { kind: 'allow' }>;

const MAX_REASON = 500;
const NOT_STORED = 'it is not in the store';

/** The input a call is to run with. `stored`: where it lies when it is not the call's own. */
export type Chosen = {
  readonly input: unknown;
  readonly stored?: Hash;
  readonly edited?: true;
  readonly approved?: CallLog['approved'];
};

/**
 * `input` as it was before the schema. One that was put in place of the call's own is stored, so
 * that the decision can be about it.
 */
export async function askAbout(
  bench: Workbench,
  { key }: Pick<CallRun, 'key'>,
  { ready, input, by }: Judged,
): Promise<Ask> {
  const { tool, risk, permission } = ready;
  const reason = permission.kind === 'ask' ? askReason(bench.mode, risk, tool.name, permission) : tool.name;
  const hash = inputHash(input);
  if (by) {
    const bytes = Buffer.from(JSON.stringify(input));
    await bench.store.put(bytes);
    await recordAsked(bench.store, { session: bench.session, key }, hash);
  }
  const changed = by ? ` (${by === 'hook' ? 'a hook' : 'its own check'} changed its input)` : '';
  return { tool: tool.name, reason: clip(reason, MAX_REASON - changed.length) + changed, inputHash: hash };
}

/** With an input that a hook or the tool's own check put in its place, stored. */
export async function keepReplaced(store: Store, { input, by }: Judged, chosen: Chosen): Promise<Chosen> {
  if (!by) return chosen;
  return { ...chosen, input, stored: await store.put(Buffer.from(JSON.stringify(input))) };
}

/**
 * A person's input is refused: their decision has run nothing, and the same question is put again
 * (L55).
 */
export function askAgain(
  { name }: Pick<CallRequest, 'name'>,
  asked: string,
  problem: string,
  question = 'nothing has run',
): Asked {
  const reason = `${question}; the edited input will not do: ${onOneLine(problem)}`;
  return { kind: 'ask', ask: { tool: name, reason: clip(reason, MAX_REASON), inputHash: asked } };
}

/** Takes a heading and a list, or any lines. */
function onOneLine(text: string): string {
  const lines = text.split('\n').map((line) =>
    line
      .replace(/^\s*- /, '')
      .replace(/\s+/g, ' ')
      .trim(),
  );
  return lines
    .filter((line) => line !== '')
    .join('; ')
    .replaceAll(':; ', ': ');
}

/**
 * A sentence when the decision does not fit the call; a question when its edited input does not.
 * Throws StoreError.
 */
export async function chooseInput(
  bench: Workbench,
  request: CallRequest,
  { key, decision }: Pick<CallRun, 'key'> & { readonly decision?: Allowed | undefined },
): Promise<Chosen | Asked | string> {
  const { input } = request;
  if (decision === undefined) return { input };
  const own = isDeeperThan(input, DEEPEST_INPUT) ? null : inputHash(input);
  const asked = decision.inputHash;
  const call = { session: bench.session, key };
  const isOther = asked !== own && isHash(asked) && (await wasAsked(bench.store, call, asked));
  if (asked !== own && !isOther) return 'Not run: the decision was for another input.';
  if (decision.edited !== undefined) {
    const edited = await editedInput(bench.store, decision, decision.edited);
    return typeof edited === 'string' ? askAgain(request, asked, edited) : edited;
  }
  const approved = { inputHash: asked, ...decidedBy(decision) };
  if (!isOther) return { input, approved };
  return { input: await storedInput(bench.store, asked), stored: asked, approved };
}

/** An input a person wrote, or what is wrong with what is stored of it. */
export async function editedInput(store: Store, decision: Allowed, edited: Hash): Promise<Chosen | string> {
  if (!isHash(edited)) return NOT_STORED;
  try {
    const input = await storedInput(store, edited);
    const approved = { inputHash: decision.inputHash, editedHash: edited, ...decidedBy(decision) };
    return { input, stored: edited, edited: true, approved };
  } catch (error) {
    if (error instanceof SyntaxError) return 'what is stored of it is no JSON';
    if (!(error instanceof StoreError) || error.problem !== 'missing') throw error;
    return NOT_STORED;
  }
}

/** For the log of the call (O12). */
export const decidedBy = ({ by }: Decision): { readonly by?: string } => (by === undefined ? {} : { by });

export async function storedInput(store: Store, hash: Hash): Promise<unknown> {
  return JSON.parse(Buffer.from(await store.get(hash)).toString());
}

/**
 * Both hashes are recorded, and what ran in the place of the call's own input; the model is told
 * what a person made of that.
 */
export function withApproval(given: Verdict, { approved, edited, input, stored }: Chosen): Verdict {
  const verdict = stored === undefined || given.outcome === 'not_run' ? given : { ...given, ran: stored };
  if (approved === undefined || verdict.approved !== undefined) return verdict;
  if (edited !== true) return { ...verdict, approved };
  const ran = verdict.outcome === 'not_run' ? '' : `; it ran with ${clip(JSON.stringify(input))}`;
  const note = `(a person edited the input of this call before allowing it${ran})`;
  return { ...verdict, approved, content: `${note}\n${verdict.content}` };
}
