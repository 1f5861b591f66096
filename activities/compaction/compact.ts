// Replaces older messages in view by a summary of the small model (L10, L24): a boundary is stored, or nothing. Safe to attempt
// twice: the step record returns what an earlier attempt stored.
import type { Compact, Compacted } from '../../workflows/contract/activities.ts';
import type { Attempt } from '../attempt.ts';
import { hookContext, hookFailed } from '../hooks/hook-context.ts';
import type { HookContext, HookFailure } from '../hooks/hooks.ts';
import { announce } from '../live/announce.ts';
import type { LiveWriter } from '../live/events.ts';
import { finish } from '../live/finish.ts';
import { orDied } from '../live/or-died.ts';
import { refuseScripted } from '../model/refuse-scripted.ts';
import type { RunConfig } from '../run-config.ts';
import { stepRecord, type StepRecord } from '../step-record.ts';
import type { BoundaryEntry, Entry } from '../transcript/entries.ts';
import { entriesOf, type Extended } from '../transcript/transcripts.ts';
import { smallModel, type SummaryDeps } from './small-model.ts';
import { summarize } from './summarize.ts';

type Step = {
  readonly deps: SummaryDeps;
  readonly attempt: Attempt;
  readonly input: Compact;
  readonly config: RunConfig;
  readonly live: LiveWriter;
  readonly base: Extended;
  readonly record: StepRecord<Compacted>;
};

export function compact(deps: SummaryDeps): (attempt: Attempt, input: Compact) => Promise<Compacted> {
  return async (attempt, input) => {
    const config = await deps.config(input.config);
    refuseScripted(deps, config);
    const { session, number } = attempt;
    const { step, iteration, trigger } = input;
    const record = stepRecord<Compacted>(deps.store, session, config.chain, ['compact', input]);
    const known = await record.read();
    const live = deps.live.open({ session, step, attempt: number, activity: 'compact' });
    return orDied(live, async () => {
      const base = await deps.transcripts.extend(session, input.head, input.append);
      announce(live, base.added);
      live.write({ type: 'compaction_start', iteration, trigger });
      if (!known) return finish(live, await made({ deps, attempt, input, config, live, base, record }));
      if (known.kind === 'compacted') tell(live, iteration, (await deps.transcripts.view(session, known.head)).entries);
      return finish(live, known);
    });
  };
}

async function made(step: Step): Promise<Compacted> {
  const { deps, attempt, input, config, live, base } = step;
  const small = smallModel(deps, attempt, config);
  const entries = entriesOf(base);
  const bodies = await deps.transcripts.bodies(entries);
  const hooks = hookContext(config, { iteration: input.iteration, signal: attempt.signal }, live);
  const failures: HookFailure[] = [];
  const instructions = async (tokens: number): Promise<readonly string[]> => {
    if (!deps.hooks.has('preCompact')) return [];
    const { instructions: texts, failed } = await deps.hooks.preCompact(hooks, { trigger: input.trigger, tokens });
    failures.push(...failed);
    return texts.map(({ text }) => text);
  };
  const model = config.models[input.model ?? 0] ?? config.models[0];
  const summary = await summarize(
    { entries, bodies, model, fixedTokens: config.rules.fixedTokens, trigger: input.trigger },
    small,
    instructions,
  );
  const reported = failures.map(hookFailed);
  if (summary.kind === 'made') return await stored(step, [...reported, summary.boundary], small.spend(), hooks);
  announce(live, reported);
  return { ...summary, spend: small.spend() };
}

async function stored(
  step: Step,
  more: readonly Entry[],
  spend: Compacted['spend'],
  hooks: HookContext,
): Promise<Compacted> {
  const { deps, attempt, live, base, input, record } = step;
  if (attempt.abortedBy() === 'stop') return { kind: 'nothing', spend };
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
  announce(live, more);
  tell(live, input.iteration, next.view.entries);
  if (deps.hooks.has('postCompact')) {
    const { failed } = await deps.hooks.postCompact(hooks, { trigger: input.trigger, before, after, summary });
    // The segment is stored: it can no longer hold what failed after it.
    announce(live, failed.map(hookFailed));
  }
  return result;
}

/** L60. The boundary is the last entry. */
function tell(live: LiveWriter, iteration: number, entries: readonly Entry[]): void {
  const boundary = entries.at(-1);
  if (boundary?.kind !== 'boundary') return;
  const { before, after, summary, from, prompts } = boundary;
  const kept = entries.length - 1 - from + prompts.length;
  live.write({ type: 'compaction_end', iteration, before, after, kept, summary });
}
