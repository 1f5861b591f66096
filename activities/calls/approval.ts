// Approvals as values (L55): the question about a call, and the input it runs with once someone has
// decided.
import type { Ask, Decision } from '../../workflows/contract/activities.ts';
import { type Hash, isHash } from '../../workflows/contract/ids.ts';
import type { CallLog } from '../../store/log/entries.ts';
import { StoreError, type Store } from '../../store/values/store.ts';
import type { JudgedInput } from './check-call.ts';
import { hashInput, recordQuestion, hasQuestion } from './journal.ts';
import { clip } from '../../system/text.ts';
import { isDeeperThan, DEEPEST_INPUT } from '../../system/json.ts';
import { describeQuestion } from '../../tools/rules/permission.ts';
import type { CallVerdict } from './verdict.ts';
import { type ApprovalNeeded, type ClaimedCall, journalNameOf } from './call-context.ts';

type AllowDecision = Extract<Decision, { kind: 'allow' }>;

const MAX_REASON = 500;
const NOT_STORED = 'it is not in the store';

/**
 * The input that a call runs with. `stored` is its hash in the store when it is not the call's own
 * input.
 */
export type ChosenInput = {
  readonly input: unknown;
  readonly stored?: Hash;
  readonly edited?: true;
  readonly approved?: CallLog['approved'];
};

/**
 * Builds the question about a checked call. An input that a hook or a check put in place of the
 * call's own is stored, so that the decision can refer to it.
 */
export async function askAbout(call: ClaimedCall, { ready, input, by }: JudgedInput): Promise<Ask> {
  const { environment } = call;
  const { tool, risk, permission } = ready;
  const reason =
    permission.kind === 'ask' ? describeQuestion(environment.mode, risk, tool.name, permission) : tool.name;
  const hash = hashInput(input);
  if (by) {
    const bytes = Buffer.from(JSON.stringify(input));
    await environment.store.put(bytes);
    await recordQuestion(environment.store, journalNameOf(call), hash);
  }
  const changed = by ? ` (${by === 'hook' ? 'a hook' : 'its own check'} changed its input)` : '';
  return { tool: tool.name, reason: clip(reason, MAX_REASON - changed.length) + changed, inputHash: hash };
}

/** Stores an input that a hook or the tool's own check put in place of the call's own. */
export async function storeReplacedInput(
  store: Store,
  { input, by }: JudgedInput,
  chosen: ChosenInput,
): Promise<ChosenInput> {
  if (!by) return chosen;
  return { ...chosen, input, stored: await store.put(Buffer.from(JSON.stringify(input))) };
}

/**
 * Refuses a person's edited input: their decision has run nothing, and the same question is put
 * again (L55).
 */
export function askAgain(
  { name }: ClaimedCall,
  inputHash: string,
  problem: string,
  question = 'nothing has run',
): ApprovalNeeded {
  const reason = `${question}; the edited input will not do: ${joinLines(problem)}`;
  return { kind: 'ask', ask: { tool: name, reason: clip(reason, MAX_REASON), inputHash } };
}

/** Joins a heading and its list, or any lines, into one line. */
function joinLines(text: string): string {
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
 * Chooses the input that the decision allows. Returns a sentence when the decision does not fit the
 * call, and a question when its edited input does not. Throws StoreError.
 */
export async function chooseInput(
  call: ClaimedCall,
  decision: AllowDecision | undefined,
): Promise<ChosenInput | ApprovalNeeded | string> {
  const { store } = call.environment;
  const { input } = call.block;
  if (decision === undefined) return { input };
  const own = isDeeperThan(input, DEEPEST_INPUT) ? null : hashInput(input);
  const { inputHash } = decision;
  const isOther = inputHash !== own && isHash(inputHash) && (await hasQuestion(store, journalNameOf(call), inputHash));
  if (inputHash !== own && !isOther) return 'Not run: the decision was for another input.';
  if (decision.edited !== undefined) {
    const edited = await readEditedInput(store, decision, decision.edited);
    return typeof edited === 'string' ? askAgain(call, inputHash, edited) : edited;
  }
  const approved = { inputHash, ...pickDecider(decision) };
  if (!isOther) return { input, approved };
  return { input: await readStoredInput(store, inputHash), stored: inputHash, approved };
}

/** Reads the input that a person wrote, or says what is wrong with the stored value. */
export async function readEditedInput(
  store: Store,
  decision: AllowDecision,
  edited: Hash,
): Promise<ChosenInput | string> {
  if (!isHash(edited)) return NOT_STORED;
  try {
    const input = await readStoredInput(store, edited);
    const approved = { inputHash: decision.inputHash, editedHash: edited, ...pickDecider(decision) };
    return { input, stored: edited, edited: true, approved };
  } catch (error) {
    if (error instanceof SyntaxError) return 'what is stored of it is no JSON';
    if (!(error instanceof StoreError) || error.problem !== 'missing') throw error;
    return NOT_STORED;
  }
}

/** Picks the author of a decision for the log of the call (O12). */
export const pickDecider = ({ by }: Decision): { readonly by?: string } => (by === undefined ? {} : { by });

export async function readStoredInput(store: Store, hash: Hash): Promise<unknown> {
  return JSON.parse(Buffer.from(await store.get(hash)).toString());
}

/**
 * Records both hashes and the input that ran in place of the call's own, and tells the model when a
 * person edited it.
 */
export function addApproval(original: CallVerdict, { approved, edited, input, stored }: ChosenInput): CallVerdict {
  const verdict = stored === undefined || original.outcome === 'not_run' ? original : { ...original, ran: stored };
  if (approved === undefined || verdict.approved !== undefined) return verdict;
  if (edited !== true) return { ...verdict, approved };
  const ran = verdict.outcome === 'not_run' ? '' : `; it ran with ${clip(JSON.stringify(input))}`;
  const note = `(a person edited the input of this call before allowing it${ran})`;
  return { ...verdict, approved, content: `${note}\n${verdict.content}` };
}
