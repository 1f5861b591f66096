// Stores a reply with what was appended before it and the outcomes of early calls, in one segment
// with the step's record, and describes it to the loop.
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { Call, ModelResult } from '../../workflows/contract/activities.ts';
import { present } from '../../workflows/contract/present.ts';
import { estimateTokens, type Spend } from '../../workflows/contract/loop.ts';
import { countRequestCharacters } from '../../store/transcript/request-size.ts';
import { createGivenUpError, isGivenUp } from '../attempt.ts';
import type { ModelDeps } from '../model-deps.ts';
import type { CallBlock, CallOutcome, CallRunner } from '../calls/call-port.ts';
import type { LiveWriter } from '../../store/live/events.ts';
import { replyEvent } from '../../store/live/tell.ts';
import type { RunConfig } from '../../store/configuration.ts';
import { runFields } from '../../system/log.ts';
import { isForgotten } from '../step-record.ts';
import type { CallJudgement, Entry, ReplyEntry } from '../../store/log/entries.ts';
import { findLeftOut } from '../../store/transcript/prepared-boundary.ts';
import { ownName } from '../../store/transcript/tool-names.ts';
import { chooseIds } from '../../store/transcript/call-ids.ts';
import { finalText } from '../../store/view/result.ts';
import { fitOutcomes, type NextSegment } from '../../store/view/append.ts';
import { StoreError } from '../../store/values/store.ts';
import { clip } from '../../system/text.ts';
import { isListed } from '../../tools/listed.ts';
import type { ToolForms } from '../../tools/registry.ts';
import type { EarlyEnds } from './attempt-reply.ts';
import { inDoubt } from './run-open-calls.ts';
import { buildHookContext } from '../hooks/hooks.ts';
import { contextTokensOf, contextUsageOf, pricesOf, spendOf } from './bill.ts';
import { asServed } from './request.ts';
import type { ModelStep } from './step.ts';

type ReplyParts = {
  readonly message: ReplyEntry['message'];
  readonly calls: readonly CallBlock[];
  readonly fate: ReplyEntry['fate'];
  /** The spend of all attempts of this call. */
  readonly spend: Spend;
  /** The early calls, and the outcomes of those that have finished (L37). */
  readonly early?: EarlyEnds;
};

/** `first`: the reply of this attempt is the one that counts. */
type StoredReply = { readonly result: ModelResult; readonly first: boolean };

/** Thrown when no part of the reply is stored; the cause is the original error. */
export class UnwritableReply extends Error {
  override readonly name = 'UnwritableReply';
}

/** Stores the reply. Throws StoreError and UnwritableReply. */
export async function storeReply(step: ModelStep, parts: ReplyParts): Promise<StoredReply> {
  const { deps, attempt, input, live, config, record } = step;
  const { message, fate, spend } = parts;
  const written = await write(step, parts).catch((error: unknown) => {
    if (error instanceof StoreError) throw error;
    throw new UnwritableReply('the reply cannot be written', { cause: error });
  });
  // A worker that was frozen until now, and whose call went to another, stores nothing.
  if (!(await attempt.fence())) throw createGivenUpError(attempt);
  const { result, first } = await record.record(written.result, written.next.bytes);
  if (first) {
    deps.transcripts.keep(written.next);
    observeReply(deps, config, input.iteration, message);
    // It is not known yet whether the loop keeps a cut reply (L26).
    const head = fate === 'whole' ? written.next.hash : undefined;
    live.write(replyEvent({ iteration: input.iteration, message, fate, spend }, head));
    return { result, first };
  }
  // The record shows a stop that this attempt did not look for, so the next attempt finds out how
  // it ended.
  if (!record.wasRead() && isForgotten(attempt)(result)) throw createGivenUpError(attempt);
  return { result: await endForAnother(live, result), first };
}

/**
 * Ends the step of an attempt without a reply: one that is still alive somewhere stores none after
 * it, and begins no call (L47). An attempt that was given up ends nothing: another one exists,
 * which may produce a reply.
 */
export async function endWithout(
  { attempt, record, live, tries }: Pick<ModelStep, 'attempt' | 'record' | 'live' | 'tries'>,
  value: ModelResult,
): Promise<ModelResult> {
  if (isGivenUp(attempt) || !(await attempt.fence())) {
    attempt.remember({ ...tries, spend: value.spend }, 'now');
    throw createGivenUpError(attempt);
  }
  const { result, first } = await record.record(value);
  return first ? result : endForAnother(live, result);
}

/**
 * Ends the attempt in favour of another one's record. Its events are void, and this attempt does
 * not know which calls the other one began.
 */
async function endForAnother(live: LiveWriter, result: ModelResult): Promise<ModelResult> {
  await live.end({ type: 'fate', fate: 'died', why: 'another attempt has ended this call' });
  return inDoubt(result);
}

type WrittenReply = { readonly next: NextSegment; readonly result: ModelResult };

/** Builds the segment of the reply and its description for the loop, without storing them. */
async function write(step: ModelStep, parts: ReplyParts): Promise<WrittenReply> {
  const { deps, attempt, input, base, chosen } = step;
  const { message, calls, fate, spend } = parts;
  const early = inOrder(calls, parts.early?.outcomes);
  const started = parts.early?.started ?? new Set();
  const own = spendOf(message.usage, pricesOf(step));
  const { iteration } = input;
  const at = deps.now();
  const { name } = chosen.model;
  const requested = message.model === name ? {} : { asked: name };
  const number = attempt.number;
  const ids = chooseIds(message, base.view.length + base.added.length, step.callIds ?? new Set());
  const stored = { kind: 'reply', fate, message, ...requested, ...ids } as const;
  const reply: ReplyEntry = { ...stored, ...judge(step, calls), iteration, attempt: number, spend: own, at };
  const files = await step.files;
  const adopted = await adoptOutcomes(deps, calls, early);
  const next = deps.transcripts.next(base, [reply, ...adopted, ...(files ? [files] : [])]);
  const facts = {
    head: next.hash,
    contextTokens: await inContext(step, reply),
    spend,
    ...findLeftOut(step.input.append, base),
  };
  const listed = calls.map((call) =>
    describe(step, call, { done: early.get(call.index), started: started.has(call.index) }),
  );
  if (fate === 'interrupted') return { next, result: { kind: 'interrupted', ...facts, calls: listed } };
  if (listed.length > 0)
    return {
      next,
      result: { kind: 'message', ...facts, calls: listed, ...(fate === 'cut' && { cut: true as const }) },
    };
  if (fate === 'cut')
    return { next, result: { kind: 'cut_off', ...facts, output: contextUsageOf(message.usage).output } };
  const text = finalText(next.view);
  const problem = step.checkAnswer(text);
  const textCall = findTextCall(text, (called) => isOffered(step, called));
  return { next, result: { kind: 'message', ...facts, calls: [], ...present({ problem, textCall }) } };
}

/** Tells whether the run has a tool that the model may know by this name. */
function isOffered({ deps, config, input }: ModelStep, called: string): boolean {
  const name = ownName(config.toolNames ?? {}, called).toLowerCase();
  const limits = [config.tools, input.context?.allowedTools];
  return deps.tools
    .definitionsOf(config)
    .some((tool) => tool.name.toLowerCase() === name && limits.every((names) => isListed(names, tool.name)));
}

/**
 * Returns the tokens in context. It estimates where the server counts none, because the window
 * fills all the same (L10).
 */
async function inContext({ deps, base, config, chosen }: ModelStep, reply: ReplyEntry): Promise<number> {
  const counted = contextTokensOf(reply.message.usage);
  if (counted > 0) return counted;
  const withReply = { ...base, added: [...base.added, reply] };
  const { messages } = await deps.transcripts.messages(withReply, asServed(chosen.model, deps.models));
  return config.rules.fixedTokens + estimateTokens(countRequestCharacters(messages));
}

/**
 * Returns the outcomes before the first call that had not finished: outcomes are stored in the
 * model's order, whatever finished first (L35). A call that finished later runs again, which
 * changes nothing.
 */
function inOrder(
  calls: readonly CallBlock[],
  early: ReadonlyMap<number, CallOutcome> | undefined,
): ReadonlyMap<number, CallOutcome> {
  const open = calls.findIndex(({ index }) => !early?.has(index));
  const first = open < 0 ? calls : calls.slice(0, open);
  return new Map(first.flatMap(({ index }) => (early?.has(index) ? [[index, early.get(index) as CallOutcome]] : [])));
}

/** Adopts the outcomes, fitted into one message (L6). */
async function adoptOutcomes(
  { store }: ModelDeps,
  calls: readonly CallBlock[],
  early: ReadonlyMap<number, CallOutcome>,
): Promise<readonly Entry[]> {
  const outcomes = calls.flatMap(({ index }) => early.get(index)?.outcome ?? []);
  if (outcomes.length === 0) return [];
  return [{ kind: 'outcomes', outcomes: await fitOutcomes(store, outcomes, { characters: 0, calls: calls.length }) }];
}

/** The longest name of a tool in the history, in characters. */
export const MOST_NAME = 128;

function describe(
  { deps, config, input }: ModelStep,
  call: CallBlock,
  { done, started }: { readonly done: CallOutcome | undefined; readonly started: boolean },
): Call {
  const { safe, signature, outside } = deps.tools.bind(config, call, input.context).traits();
  const name = clip(call.name, MOST_NAME);
  const known = done ? { outcome: done.facts } : started ? { givenUp: true as const } : {};
  const isBeside = outside !== undefined && outside !== 'sandbox';
  return { index: call.index, name, safe, signature, ...(isBeside && { beside: true as const }), ...known };
}

/** Says for readers of the transcript which calls will wait, where the run stores waits (G37). */
function judge({ deps, config, input }: ModelStep, calls: readonly CallBlock[]): Pick<ReplyEntry, 'judged'> {
  if (!config.rules.recordWaits || calls.length === 0) return {};
  const judgements = calls.map((call): [number, CallJudgement] => {
    const { judged: rules, outside } = deps.tools.bind(config, call, input.context).traits();
    const isCustom = outside !== undefined && outside !== 'sandbox';
    return [call.index, isCustom && rules !== 'deny' ? 'custom' : rules];
  });
  return { judged: Object.fromEntries(judgements) };
}

/**
 * Tells the post-sampling hooks of a stored reply (L21), with inputs of calls as their tools show
 * them (L18). It returns at once; the loop does not wait for the hooks, and they change nothing. A
 * reply that is stored just before a crash may go untold.
 */
function observeReply(
  { hooks, log, tools }: Pick<ModelDeps, 'hooks' | 'log' | 'tools'>,
  config: RunConfig,
  iteration: number,
  message: Message,
): void {
  if (!hooks.has('postSampling')) return;
  // The signal is not the attempt's: the hook may outlive it, to its own timeout.
  const { signal } = new AbortController();
  const observable = observableMessage(tools, config, message);
  setImmediate(() => {
    void hooks.postSampling(buildHookContext(config, { iteration, signal }), observable).then(({ failed }) => {
      for (const { hook, detail } of failed) {
        log('warn', `post-sampling hook ${hook}: ${detail}`, { ...runFields(config), iteration });
      }
    });
  });
}

/** Makes another message for observers; the one that is stored and sent keeps its inputs. */
export function observableMessage(tools: Pick<CallRunner, 'copyInput'>, run: ToolForms, message: Message): Message {
  const content = message.content.map((block, index) => {
    if (block.type !== 'tool_use') return block;
    const { id, name, input } = block;
    return { ...block, input: tools.copyInput(run, { index, id, name, input }) };
  });
  return { ...message, content };
}

/** The opening of a call, or of a list of calls, where a line begins. */
const OPENING = /^ {0,3}<(?:[a-z]+:)?(?:invoke\b|function_calls>|tool_call>)/i;
const NAME = /<(?:[a-z]+:)?invoke\s+name\s*=\s*["']([^"'\n]{1,200})["']|"name"\s*:\s*"([^"\n]{1,200})"/i;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
/** Characters after an opening in which the call's name stands. */
const NAME_WITHIN = 500;

/**
 * Finds a call that a model wrote into its text instead of making it (L15): such a reply ends, and
 * nothing has run. The forms are those that models fall into; what quotes them is code in Markdown.
 * Returns the name of the first call outside of code that `isTool` knows, or undefined.
 */
export function findTextCall(text: string, isTool: (name: string) => boolean): string | undefined {
  let fence: string | null = null;
  let at = 0;
  for (const line of text.split('\n')) {
    const mark = FENCE.exec(line)?.[1];
    if (mark !== undefined) fence = fenceAfter(fence, mark);
    else if (fence === null && OPENING.test(line)) {
      const [, invoked, listed] = NAME.exec(text.slice(at, at + NAME_WITHIN)) ?? [];
      const name = invoked ?? listed;
      if (name !== undefined && isTool(name)) return name;
    }
    at += line.length + 1;
  }
  return undefined;
}

/** A fence is closed by the same character, at least as often. */
function fenceAfter(open: string | null, mark: string): string | null {
  if (open === null) return mark;
  return mark[0] === open[0] && mark.length >= open.length ? null : open;
}
