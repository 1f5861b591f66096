// Has the API summarise the conversation while the run continues (L9): the boundary is stored, and
// the next request begins with it. Messages that arrive meanwhile are kept. Safe to attempt twice:
// the step record returns what an earlier attempt stored.
import type { PrepareCompaction, PreparedCompaction } from '../../workflows/contract/activities.ts';
import type { Attempt } from '../attempt.ts';
import { refuseScriptedModel } from '../guards.ts';
import { buildHookContext } from '../hooks/hooks.ts';
import { placeOfStep } from '../../store/live/observe.ts';
import { runFields } from '../../system/log.ts';
import { chooseWithFacts } from '../model/request.ts';
import { isForgotten, openStepRecord } from '../step-record.ts';
import { encodeBoundary } from '../../store/transcript/prepared-boundary.ts';
import { entriesOf } from '../../store/transcript/transcripts.ts';
import { measureScale } from './scale.ts';
import { makeSignedBoundary, type SignedWork } from './signed-boundary.ts';
import { openSmallModel, type SummaryDeps } from './small-model.ts';

type Prepare = (attempt: Attempt, input: PrepareCompaction) => Promise<PreparedCompaction>;

export function prepareCompaction(deps: SummaryDeps): Prepare {
  return async (attempt, input) => {
    const config = await deps.config(input.config);
    refuseScriptedModel(deps, config);
    const record = openStepRecord<PreparedCompaction>(deps.store, attempt, config.chain, ['prepareCompaction', input]);
    const known = await record.read(isForgotten(attempt));
    if (known) return known;
    const began = { at: deps.now(), tick: performance.now() };
    const { result, blobs } = await prepareBoundary(deps, attempt, input);
    const { before = null, after = null } = result.kind === 'prepared' ? result : {};
    const ms = performance.now() - began.tick;
    const about = placeOfStep(config, attempt, input);
    const outcome = result.kind === 'prepared' ? 'compacted' : result.kind;
    deps.observe({ kind: 'compaction', about, at: began.at, ms, outcome, before, after });
    return (await record.record(result, ...blobs)).result;
  };
}

type PreparedResult = { readonly result: PreparedCompaction; readonly blobs: readonly Uint8Array[] };

async function prepareBoundary(deps: SummaryDeps, attempt: Attempt, input: PrepareCompaction): Promise<PreparedResult> {
  const config = await deps.config(input.config);
  const chosen = chooseWithFacts(deps.models, config, input.model, input.window);
  const small = openSmallModel(deps, attempt, config, { ...input, instead: chosen.model });
  const entries = entriesOf(await deps.transcripts.extend(attempt.session, input.head, []));
  const bodies = await deps.transcripts.bodies(entries);
  const scale = await measureScale(deps.transcripts, entries, chosen.model, config);
  const trigger = 'auto';
  const hooks = buildHookContext(config, { iteration: input.iteration, signal: attempt.signal });
  const hookWords = deps.hooks.has('preCompact')
    ? await deps.hooks.preCompact(hooks, { trigger, tokens: scale.tokens(entries, bodies) })
    : { instructions: [], failed: [] };
  const more = hookWords.instructions.map(({ text }) => text);
  const work: SignedWork = {
    deps,
    attempt,
    config,
    input: { ...input, trigger },
    chosen,
    entries,
    bodies,
    scale,
    small,
    more,
  };
  const signed = await makeSignedBoundary(work);
  const spend = small.spend();
  if (signed.kind === 'nothing') return { result: { kind: 'nothing', spend }, blobs: [] };
  if (signed.kind !== 'made') {
    const detail = signed.kind === 'none' ? 'there was nothing to sum up' : signed.detail;
    const words = `no compaction was prepared: one is made when the window is nearly full (${detail})`;
    deps.log('info', words, { ...runFields(config), iteration: input.iteration });
    return { result: { kind: 'failed', detail, spend, ...listFailedHooks(hookWords.failed) }, blobs: [] };
  }
  const { boundary } = signed;
  const { before, after, summary } = boundary;
  const over = deps.hooks.has('postCompact')
    ? await deps.hooks.postCompact(hooks, { trigger, before, after, summary })
    : { failed: [] };
  const { hash, bytes } = encodeBoundary(boundary, entries.length);
  const facts = { before, after, spend, ...listFailedHooks([...hookWords.failed, ...over.failed]) };
  return { result: { kind: 'prepared', boundary: hash, ...facts }, blobs: [bytes] };
}

function listFailedHooks(failed: readonly { readonly hook: string; readonly detail: string }[]) {
  return failed.length === 0 ? {} : { hooks: failed.map(({ hook, detail }) => ({ hook, detail })) };
}
