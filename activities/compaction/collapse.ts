// Stages short forms of closed old stretches, made by the small model, while the full ones are
// still in view (L9). Stores one segment, or nothing. Safe to attempt twice, as compaction is.
import type { Bodies } from '../../store/log/bodies.ts';
import type { Collapse, CollapseResult } from '../../workflows/contract/activities.ts';
import type { Attempt } from '../attempt.ts';
import { recordEnds } from '../calls/record-ends.ts';
import { announceEntries, endIfThrows, endWithResult } from '../../store/live/tell.ts';
import type { QuestionOutcome } from '../model/ask-model.ts';
import { chooseModel, keepsPast } from '../model/request.ts';
import { refuseScriptedModel } from '../guards.ts';
import type { RunConfig } from '../../store/configuration.ts';
import { isForgotten, openStepRecord, type StepRecord } from '../step-record.ts';
import type { Entry } from '../../store/log/entries.ts';
import { findLeftOut } from '../../store/transcript/prepared-boundary.ts';
import { shortForm } from '../../store/view/notices.ts';
import { entriesOf, type ExtendedView } from '../../store/transcript/transcripts.ts';
import {
  COLLAPSE_SYSTEM,
  COLLAPSE_TASK,
  openSmallModel,
  type SmallModel,
  type SummaryDeps,
  writeQuestion,
} from './small-model.ts';
import { type Block, type BlockItem, findRunStarts, fitText, groupBlocks } from './blocks.ts';
import { isEnough, measureScale, type Scale, shrinkFirst, storeShrunk, tellStored } from './scale.ts';
import { inView } from '../../store/view/in-view.ts';

/** The most stretches of one activity, a model call each. */
const MOST_STRETCHES = 4;
const MAX_TOKENS = 1_000;

export function collapse(deps: SummaryDeps): (attempt: Attempt, input: Collapse) => Promise<CollapseResult> {
  return async (attempt, input) => {
    const config = await deps.config(input.config);
    refuseScriptedModel(deps, config);
    const { session, number } = attempt;
    const { step, iteration } = input;
    const record = openStepRecord<CollapseResult>(deps.store, attempt, config.chain, ['collapse', input]);
    const known = await record.read(isForgotten(attempt));
    const append = await recordEnds(deps, attempt, input);
    const live = deps.live.open({ session, step, attempt: number, activity: 'collapse' });
    return endIfThrows(live, async () => {
      const extended = await deps.transcripts.extend(session, input.head, append);
      announceEntries(live, extended.added);
      const result = known ?? (await makeCollapse({ deps, attempt, input, config, extended, record }));
      await tellStored(deps, live, extended, result);
      if (result.kind === 'staged') live.write({ type: 'collapse_staged', iteration, savings: result.savings });
      return endWithResult(live, { ...result, ...findLeftOut(append, extended) });
    });
  };
}

type CollapseStep = {
  readonly deps: SummaryDeps;
  readonly attempt: Attempt;
  readonly input: Collapse;
  readonly config: RunConfig;
  readonly extended: ExtendedView;
  readonly record: StepRecord<CollapseResult>;
};

async function makeCollapse({ deps, attempt, input, config, extended, record }: CollapseStep): Promise<CollapseResult> {
  const { model } = chooseModel(config, input.model, input.window);
  const small = openSmallModel(deps, attempt, config, { ...input, instead: model });
  const shrunk = shrinkFirst(deps, extended, keepsPast(config, model, deps.models));
  if (isEnough(shrunk, input)) {
    return storeShrunk(deps, record, shrunk, (marked) => ({ kind: 'shrunk', ...marked, spend: small.spend() }));
  }
  const { base, freed } = shrunk;
  const scale = await measureScale(deps.transcripts, entriesOf(base), model, config);
  const staging = await stageCollapse(deps, base, { window: model.window, ...scale }, small);
  if (staging.kind !== 'stage') return staging;
  if (attempt.abortedBy() === 'stop') return { kind: 'nothing', spend: small.spend() };
  const { entries, savings } = staging;
  const next = deps.transcripts.next(base, entries);
  const { result, first } = await record.record(
    { kind: 'staged', head: next.hash, savings, ...(freed > 0 && { freed }), spend: small.spend() },
    next.bytes,
  );
  if (first) deps.transcripts.keep(next);
  return result;
}

type Staging = { readonly kind: 'stage'; readonly entries: readonly Entry[]; readonly savings: readonly number[] };

/** `window` is in tokens. */
type CollapseWindow = { readonly window: number } & Pick<Scale, 'charactersPerToken'>;

/**
 * Stages the short forms. A stretch that cannot be shortened is passed over; when none can, the
 * collapse has failed.
 */
async function stageCollapse(
  deps: SummaryDeps,
  base: ExtendedView,
  { window, charactersPerToken }: CollapseWindow,
  small: SmallModel,
): Promise<Staging | CollapseResult> {
  const all = entriesOf(base);
  const bodies = await deps.transcripts.bodies(all);
  const { stretches, shrunkBefore } = findOldStretches(all, bodies, window * charactersPerToken, MOST_STRETCHES);
  const entries: Entry[] = [];
  const savings: number[] = [];
  let detail = 'nothing in view is old, closed and large enough to be shortened';
  for (const stretch of stretches) {
    const answer = await askForShortForm(stretch, { shrunkBefore, bodies, charactersPerToken }, small);
    if (answer.kind === 'aborted') return { kind: 'nothing', spend: small.spend() };
    const saving = answer.kind === 'text' ? estimateSaving(stretch, answer.text, charactersPerToken) : 0;
    if (answer.kind === 'text' && saving > 0) {
      entries.push({ kind: 'collapse_staged', from: stretch.from, to: stretch.to, short: answer.text });
      savings.push(saving);
    } else {
      detail = answer.kind === 'failed' ? answer.failure.detail : 'it was no shorter than what it was to stand for';
      detail = `a short form could not be made: ${detail}`;
    }
  }
  if (entries.length > 0) return { kind: 'stage', entries, savings };
  return { kind: 'failed', detail, spend: small.spend() };
}

type Material = {
  readonly shrunkBefore: number;
  readonly bodies: Bodies;
  readonly charactersPerToken: number;
};

function askForShortForm(
  { items, characters }: OldStretch,
  { shrunkBefore, bodies, charactersPerToken }: Material,
  small: SmallModel,
): Promise<QuestionOutcome> {
  const maxTokens = Math.max(1, Math.min(MAX_TOKENS, Math.ceil(characters / charactersPerToken)));
  const room = Math.max(
    0,
    small.room(maxTokens, charactersPerToken) - writeQuestion('', COLLAPSE_TASK).length - COLLAPSE_SYSTEM.length,
  );
  const text = writeQuestion(fitText(items, shrunkBefore, bodies, room), COLLAPSE_TASK);
  return small.ask({ system: COLLAPSE_SYSTEM, text, maxTokens });
}

/** Estimates the saving in tokens. */
function estimateSaving({ from, to, characters }: OldStretch, short: string, charactersPerToken: number): number {
  return Math.floor((characters - shortForm({ from, to }, short).length) / charactersPerToken);
}

/** The share of what is in view that is too new. */
const NEWEST_SHARE = 0.3;
/**
 * Shares of the window: a stretch is at least the first, grows no more when it has reached the
 * second, and past the third only when one round does.
 */
const LEAST_SHARE = 0.05;
const ENOUGH_SHARE = 0.12;
const MOST_OF_WINDOW = 0.2;

/** `to` is exclusive. */
type OldStretch = {
  readonly from: number;
  readonly to: number;
  readonly items: readonly BlockItem[];
  readonly characters: number;
};

type OldStretches = { readonly stretches: readonly OldStretch[]; readonly shrunkBefore: number };

/**
 * Finds closed old stretches that may be shown short one day (L9): whole rounds or trajectories,
 * old enough, without a prompt of the run that goes on, and not staged or short already. Finds the
 * stretches, oldest first, at most `most`. `window` is in characters.
 */
export function findOldStretches(
  entries: readonly Entry[],
  bodies: Bodies,
  window: number,
  most: number,
): OldStretches {
  const { shown: parts, marks } = inView(entries);
  const { shrunkBefore, staged } = marks;
  const runStarts = findRunStarts(entries);
  const blocks = groupBlocks({ parts, shrunkBefore, bodies }, runStarts);
  const old = blocks.slice(0, findFirstNew(blocks));
  const run = runStarts.at(-1) ?? 0;
  const free = old.map((block): OldStretch | null => {
    if (!mayShrink(block, run, marks.boundary?.from ?? 0)) return null;
    const { items, characters, from } = block;
    const stretch = { from, to: endPosition(items), items, characters };
    return staged.some((each) => each.from < stretch.to && stretch.from < each.to) ? null : stretch;
  });
  return { stretches: groupStretches(free, window).slice(0, most), shrunkBefore };
}

/** Returns the index of the first block that is too new. */
function findFirstNew(blocks: readonly Block[]): number {
  const total = blocks.reduce((sum, { characters }) => sum + characters, 0);
  let newer = 0;
  let at = blocks.length;
  while (at > 0 && newer < total * NEWEST_SHARE) newer += blocks[(at -= 1)]?.characters ?? 0;
  return at;
}

/**
 * Tells whether a block may be shortened. A person's words in this run stay as they are; so do
 * short forms.
 */
function mayShrink({ items, kind, open, from }: Block, run: number, begin: number): boolean {
  if (open || from < begin) return false;
  const asIs = items.some(
    ({ part }) =>
      part.kind !== 'entry' || (part.entry.kind === 'user' && (part.position >= run || part.position < begin)),
  );
  return !asIs && (kind !== 'said' || from < run);
}

function endPosition(items: readonly BlockItem[]): number {
  return Math.max(...items.map(({ part }) => part.position)) + 1;
}

/** Joins neighbours. Null stands for a block that stays between. */
function groupStretches(blocks: readonly (OldStretch | null)[], window: number): OldStretch[] {
  const groups: OldStretch[] = [];
  let group: OldStretch | null = null;
  for (const block of [...blocks, null]) {
    const next: OldStretch | null = group && block ? joinStretches(group, block) : block;
    if (group && (!next || (next.characters > window * MOST_OF_WINDOW && group.characters >= window * LEAST_SHARE))) {
      if (group.characters >= window * LEAST_SHARE) groups.push(group);
      group = block;
    } else {
      group = next;
    }
    if (group && group.characters >= window * ENOUGH_SHARE) {
      groups.push(group);
      group = null;
    }
  }
  return groups;
}

function joinStretches(a: OldStretch, b: OldStretch): OldStretch {
  return { from: a.from, to: b.to, items: [...a.items, ...b.items], characters: a.characters + b.characters };
}
