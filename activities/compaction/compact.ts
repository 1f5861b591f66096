// Replaces older messages in view by a summary of the small model (L10, L24). It stores a boundary
// or nothing; shrinking old results may be enough (L8). Safe to attempt twice: the step record
// returns what an earlier attempt stored.
import type { Compact, CompactionResult } from '../../workflows/contract/activities.ts';
import type { Attempt } from '../attempt.ts';
import { recordEnds } from '../calls/record-ends.ts';
import { type ObservedPlace, placeOfStep } from '../../store/live/observe.ts';
import { type HookContext, buildHookContext, hookFailureNotice } from '../hooks/hooks.ts';
import { announceBoundary, announceEntries, endIfThrows, endWithResult } from '../../store/live/tell.ts';
import type { LiveWriter } from '../../store/live/events.ts';
import { chooseModel, type ChosenModel, chooseWithFacts, keepsPast } from '../model/request.ts';
import { refuseScriptedModel } from '../guards.ts';
import { isForgotten, openStepRecord, type StepRecord } from '../step-record.ts';
import type { BoundaryEntry, Entry } from '../../store/log/entries.ts';
import { type Bodies, mediaOf } from '../../store/log/bodies.ts';
import { findLeftOut } from '../../store/transcript/prepared-boundary.ts';
import { readMarks } from '../../store/transcript/marks.ts';
import { inView, type ShownPart } from '../../store/view/in-view.ts';
import { entriesOf, type ExtendedView } from '../../store/transcript/transcripts.ts';
import { chooseKept, type KeptPart } from './choose-kept.ts';
import { isEnough, measureScale, type Scale, shrinkFirst, storeShrunk, tellStored } from './scale.ts';
import { answerInstead, openSmallModel, type SmallModel, type SummaryDeps } from './small-model.ts';
import { summarize, type SummaryEnd } from './summarize.ts';
import { makeSignedBoundary, reportUnsigned } from './signed-boundary.ts';
import type { RunConfig } from '../../store/configuration.ts';
import type { AskFailure } from '../model/ask-model.ts';
import {
  afterEmpty,
  afterFailure,
  type AfterFailure,
  afterWait,
  countFailure,
  readRemainingWait,
  type Tries,
} from '../model/refused/failed-attempt.ts';
import { settleDeath } from '../model/settle.ts';

type CompactStep = CompactionAttempt & {
  readonly extended: ExtendedView;
  readonly record: StepRecord<CompactionResult>;
  readonly small: SmallModel;
};

/** `base` is the extended view with what is shown short from now on; `entries` are all of it. */
type SummaryStep = CompactStep & {
  readonly base: ExtendedView;
  readonly entries: readonly Entry[];
  readonly bodies: Bodies;
  readonly scale: Scale;
  readonly keptPart: KeptPart;
};

export function compact(deps: SummaryDeps): (attempt: Attempt, input: Compact) => Promise<CompactionResult> {
  return async (attempt, input) => {
    const config = await deps.config(input.config);
    refuseScriptedModel(deps, config);
    const { session, number } = attempt;
    const { step, iteration } = input;
    const record = openStepRecord<CompactionResult>(deps.store, attempt, config.chain, ['compact', input]);
    const known = await record.read(isForgotten(attempt));
    const append = await recordEnds(deps, attempt, input);
    const live = deps.live.open({ session, step, attempt: number, activity: 'compact' });
    return endIfThrows(live, async () => {
      const extended = await deps.transcripts.extend(session, input.head, append);
      const leftOut = findLeftOut(append, extended);
      const instead = chooseModel(config, input.model, input.window).model;
      const smallModel = openSmallModel(deps, attempt, config, { ...input, instead });
      const small = deps.autocompact ? answerInstead(smallModel, deps.autocompact) : smallModel;
      if (!known) {
        const began = { at: deps.now(), tick: performance.now() };
        const result = await makeCompaction({ deps, attempt, input, config, live, extended, record, small });
        observeCompaction(deps, placeOfStep(config, attempt, input), began, result);
        if (result.kind !== 'compacted') await tellStored(deps, live, extended, result);
        return endWithResult(live, { ...result, ...leftOut });
      }
      announceEntries(live, extended.added);
      if (known.kind === 'compacted') tellStart(live, input);
      await tellStored(deps, live, extended, known);
      if (known.kind === 'compacted')
        tellEnd(live, iteration, (await deps.transcripts.view(session, known.head)).entries);
      return endWithResult(live, { ...known, ...leftOut });
    });
  };
}

type StartTimes = { readonly at: number; readonly tick: number };

function observeCompaction(
  { observe }: SummaryDeps,
  about: ObservedPlace,
  { at, tick }: StartTimes,
  result: CompactionResult,
): void {
  const { before = null, after = null } = result.kind === 'compacted' ? result : {};
  observe({ kind: 'compaction', about, at, ms: performance.now() - tick, outcome: result.kind, before, after });
}

async function makeCompaction(step: CompactStep): Promise<CompactionResult> {
  const { deps, config, input, live, extended, record, small } = step;
  const { model } = chooseModel(config, input.model, input.window);
  const shrunk = shrinkFirst(deps, extended, keepsPast(config, model, deps.models));
  const enough = isEnough(shrunk, input);
  const spend = small.spend();
  const shrunkEntries = entriesOf(shrunk.base);
  const bodies = await deps.transcripts.bodies(shrunkEntries);
  const scale = await measureScale(deps.transcripts, shrunkEntries, model, config);
  const tokens = scale.tokens(shrunkEntries, bodies);
  // Watchers are told nothing: the next step says it.
  if (enough && shrunk.freed === 0) return { kind: 'unshrunk', tokens, spend };
  const base = commitStaged(shrunk.base, input);
  const entries = entriesOf(base);
  const keptPart = enough || fitsWindow(step, tokens) ? null : chooseForStep(step, entries, bodies, scale);
  if (keptPart || shrunk.freed > 0) announceEntries(live, extended.added);
  if (enough) return storeShrunk(deps, record, shrunk, (marked) => ({ kind: 'shrunk', ...marked, tokens, spend }));
  const result: CompactionResult = keptPart
    ? await sumUp({ ...step, base, entries, bodies, scale, keptPart })
    : { kind: 'as_is', tokens, spend };
  if ((result.kind !== 'failed' && result.kind !== 'as_is') || shrunk.freed === 0) return result;
  return storeShrunk(deps, record, shrunk, (marked) => ({ ...result, ...marked }));
}

/**
 * Tells whether the request fits without a summary: counted entries have been snipped since (L7),
 * or are shown in part (L6). A request that the API has refused does not fit.
 */
function fitsWindow({ input, config }: CompactStep, tokens: number): boolean {
  const { window } = chooseModel(config, input.model, input.window).model;
  return input.trigger === 'auto' && tokens < config.rules.compaction.critical * window;
}

function chooseForStep(
  { input, config }: CompactStep,
  entries: readonly Entry[],
  bodies: Bodies,
  scale: Scale,
): KeptPart | null {
  const { window, checksPrefix: plain } = chooseModel(config, input.model, input.window).model;
  const characters = window * scale.charactersPerToken;
  return chooseKept(entries, bodies, { characters, trigger: input.trigger, plain });
}

/**
 * Commits staged collapses before a summary is made (L9); when the API has refused the request,
 * that has been done.
 */
function commitStaged(base: ExtendedView, { trigger }: Compact): ExtendedView {
  const { length: count } = readMarks(entriesOf(base)).staged;
  if (trigger === 'reactive' || count === 0) return base;
  return { ...base, added: [...base.added, { kind: 'collapse_committed', count }] };
}

async function sumUp(step: SummaryStep): Promise<CompactionResult> {
  const { deps, attempt, input, config, live, small, entries, bodies, scale, keptPart } = step;
  const { trigger, iteration, instructions } = input;
  const waits = await resumeCompactionWait(step, small.tries());
  if (waits) return waits;
  tellStart(live, input);
  const hooks = buildHookContext(config, { iteration, signal: attempt.signal }, live);
  const before = scale.tokens(entries, bodies);
  const hookWords = deps.hooks.has('preCompact')
    ? await deps.hooks.preCompact(hooks, { trigger, tokens: before, ...(instructions && { instructions }) })
    : { instructions: [], failed: [] };
  const texts = [...(instructions ? [instructions] : []), ...hookWords.instructions.map(({ text }) => text)];
  const { model } = chooseForSummary(step);
  const work = { entries, bodies, model, scale, trigger, keptPart, before };
  const summary = (await askForSigned(step, texts)) ?? (await summarize(work, small, texts));
  const reported = hookWords.failed.map(hookFailureNotice);
  if (summary.kind === 'made') return await storeBoundary(step, [...reported, summary.boundary], small.spend(), hooks);
  announceEntries(live, reported);
  if (summary.kind === 'unanswered') return handleUnanswered(step, small.tries(), summary.failure, summary.model);
  return { ...summary, spend: small.spend() };
}

/** The number of failures of the API at its own summary before one of ours is made. */
const MOST_FAILURES = 2;

/** Lets the API make the summary, where it can. Null: one of ours is to be made. */
async function askForSigned(step: SummaryStep, more: readonly string[]): Promise<SummaryEnd | null> {
  const { failures, empties } = step.small.tries();
  if (step.deps.autocompact || isMediaRefused(step) || failures + empties >= MOST_FAILURES) return null;
  const work = { ...step, chosen: chooseForSummary(step), more };
  const answer = await makeSignedBoundary(work);
  if (answer.kind === 'none') return null;
  if (answer.kind !== 'unsigned') return answer;
  const { failure, detail } = answer;
  const isLast = failures + empties + 1 >= MOST_FAILURES;
  if (!isLast && failure?.kind === 'retry') return { kind: 'unanswered', failure, model: work.chosen.model.name };
  reportUnsigned(work, detail);
  return null;
}

/**
 * Tells whether images were refused: they go with a boundary of ours alone. A workflow of an
 * earlier release does not say what was refused.
 */
function isMediaRefused({ input: { trigger, because }, entries }: SummaryStep): boolean {
  if (trigger !== 'reactive' || because === 'prompt_too_long') return false;
  return inView(entries).shown.some(hasMedia);
}

function chooseForSummary({ deps, config, input }: CompactStep): ChosenModel {
  return chooseWithFacts(deps.models, config, input.model, input.window);
}

function hasMedia(part: ShownPart): boolean {
  return part.kind === 'entry' && mediaOf(part.entry).length > 0;
}

async function storeBoundary(
  step: SummaryStep,
  more: readonly Entry[],
  spend: CompactionResult['spend'],
  hooks: HookContext,
): Promise<CompactionResult> {
  const { deps, live, extended, base, input, record } = step;
  const next = deps.transcripts.next(base, more);
  const boundary = more.at(-1) as BoundaryEntry;
  const { before, after, summary } = boundary;
  const { result, first } = await record.record(
    { kind: 'compacted', head: next.hash, before, after, spend },
    next.bytes,
  );
  if (!first) {
    await live.end({ type: 'fate', fate: 'died', why: 'another attempt stored its compaction first' });
    return result;
  }
  deps.transcripts.keep(next);
  announceEntries(live, next.view.from(extended.view.length + extended.added.length));
  tellEnd(live, input.iteration, next.view.entries);
  if (deps.hooks.has('postCompact')) {
    const { failed } = await deps.hooks.postCompact(hooks, { trigger: input.trigger, before, after, summary });
    // The segment is stored: it can no longer hold what failed after it.
    announceEntries(live, failed.map(hookFailureNotice));
  }
  return result;
}

/** Tells watchers that a compaction begins (L60). */
function tellStart(live: LiveWriter, { iteration, trigger }: Compact): void {
  live.write({ type: 'compaction_start', iteration, trigger });
}

function tellEnd(live: LiveWriter, iteration: number, entries: readonly Entry[]): void {
  announceBoundary(live, iteration, entries, entries.length - 1);
}

/** One attempt at a compaction. */
type CompactionAttempt = {
  readonly deps: SummaryDeps;
  readonly attempt: Attempt;
  readonly input: Compact;
  readonly config: RunConfig;
  readonly live: LiveWriter;
};

/**
 * Handles a summary that was not made: Temporal tries again after a wait that holds no slot, or the
 * run parks, as for any model call (L14, L15). When no wait helps, the compaction has failed once
 * (L10). Counts the failure and decides what follows. `tries` does not count this failure yet;
 * `model` is its name. Throws for another attempt.
 */
function handleUnanswered(
  step: CompactionAttempt,
  tries: Tries,
  failure: AskFailure,
  model = step.config.smallModel.name,
): Promise<CompactionResult> {
  const counted =
    failure.kind === 'empty' ? { ...tries, empties: tries.empties + 1 } : countFailure(tries, failure, tries.spend);
  return settleCompaction(step, counted, nextTry(step, counted, failure, model));
}

/** Returns null when nothing is left of a wait that an attempt before this one was asked for. */
async function resumeCompactionWait(step: CompactionAttempt, tries: Tries): Promise<CompactionResult | null> {
  const wait = await readRemainingWait(step, tries);
  return wait && settleCompaction(step, wait.tries, afterWait(wait, wait.tries, step.config));
}

async function settleCompaction(
  step: CompactionAttempt,
  counted: Tries,
  after: AfterFailure,
): Promise<CompactionResult> {
  // A reactive one does not park: it would begin anew after the wait, with the model call that made
  // it necessary.
  const waits = step.input.trigger === 'auto' || after.kind === 'retry' || after.result.kind !== 'parked';
  const result = waits ? await settleDeath(step, counted, after) : after.result;
  const { kind, detail, spend } = result;
  if (waits && kind === 'parked') return { kind, waitMs: result.waitMs, failures: result.failures, detail, spend };
  return { kind: 'failed', detail: `the summary could not be made: ${detail}`, spend };
}

function nextTry({ deps, config }: CompactionAttempt, tries: Tries, failure: AskFailure, from: string): AfterFailure {
  const random = deps.random();
  if (failure.kind === 'empty') return afterEmpty(tries, config, random);
  return afterFailure({ verdict: failure, tries, abandoned: { from, to: null, calls: [] }, random }, config);
}
