// Makes a boundary whose summary the API has made and signed (L10): for a compaction that the run
// waits for, and for one that is prepared while it goes on.
import type { Compact } from '../../workflows/contract/activities.ts';
import type { Attempt } from '../attempt.ts';
import type { RunConfig } from '../../store/configuration.ts';
import { runFields } from '../../system/log.ts';
import type { AskFailure } from '../model/ask-model.ts';
import { type ChosenModel, REFUSABLE } from '../model/request.ts';
import type { Bodies } from '../../store/log/bodies.ts';
import type { BoundaryEntry, Entry } from '../../store/log/entries.ts';
import { chooseKept } from './choose-kept.ts';
import type { Scale } from './scale.ts';
import { maySign, requestSummary } from './sign.ts';
import type { SmallModel, SummaryDeps } from './small-model.ts';
import { makeBoundaryIfSmaller } from './summarize.ts';

export type SignedWork = {
  readonly deps: SummaryDeps;
  readonly attempt: Attempt;
  readonly config: RunConfig;
  readonly input: Pick<Compact, 'trigger' | 'iteration' | 'maxOutput'>;
  readonly chosen: ChosenModel;
  readonly entries: readonly Entry[];
  readonly bodies: Bodies;
  readonly scale: Scale;
  readonly small: SmallModel;
  /** Further instructions. */
  readonly more: readonly string[];
};

type SignedBoundaryEnd =
  | { readonly kind: 'made'; readonly boundary: BoundaryEntry }
  /** It cannot be asked for, or nothing is left to summarise. */
  | { readonly kind: 'none' }
  | { readonly kind: 'unsigned'; readonly detail: string; readonly failure?: AskFailure }
  /** A stop. */
  | { readonly kind: 'nothing' };

/** Makes the boundary. Throws only for a bug. */
export async function makeSignedBoundary(work: SignedWork): Promise<SignedBoundaryEnd> {
  const { input, chosen, entries, bodies, scale, small, more } = work;
  const { model } = chosen;
  const { trigger } = input;
  const signing = { ...work, maxOutput: input.maxOutput };
  if (!maySign(signing)) return { kind: 'none' };
  const characters = model.window * scale.charactersPerToken;
  const keptPart = chooseKept(entries, bodies, { characters, trigger, plain: true, fromReply: true });
  if (!keptPart) return { kind: 'none' };
  const answer = await requestSummary(signing, keptPart.from, small, more);
  if (answer.kind === 'aborted') return { kind: 'nothing' };
  if (answer.kind === 'failed') return { kind: 'unsigned', detail: answer.failure.detail, failure: answer.failure };
  const { block, keepsThinking } = answer;
  const before = scale.tokens(entries, bodies);
  const by = { signed: block, ...(keepsThinking && { keepsThinking }) };
  const summary = makeBoundaryIfSmaller(
    { entries, bodies, model, scale, trigger, keptPart, before },
    block.content,
    by,
  );
  if (summary.kind === 'made') return summary;
  return { kind: 'unsigned', detail: summary.kind === 'failed' ? summary.detail : summary.kind };
}

/** Logs that the model made no summary, because its thinking is lost with it. */
export function reportUnsigned({ deps, config, input, chosen }: SignedWork, detail: string): void {
  const { name } = chosen.model;
  const words = deps.models.isRefused(name, REFUSABLE.summaries)
    ? `the server of ${name} makes no summaries: ours are made instead`
    : `${name} made no summary: ours is made instead, and its thinking is not kept`;
  deps.log('warn', `${words} (${detail})`, { ...runFields(config), iteration: input.iteration });
}
