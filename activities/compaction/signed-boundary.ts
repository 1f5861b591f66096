// A boundary whose summary the API has made and signed (L10): for a compaction that the run waits
// for, and for one that is prepared beside it.
import type { Compact } from '../../workflows/contract/activities.ts';
import type { Attempt } from '../attempt.ts';
import type { RunConfig } from '../../store/configuration.ts';
import { runFields } from '../../system/log.ts';
import type { AskFailure } from '../model/ask-model.ts';
import { type ChosenModel, REFUSABLE } from '../model/request.ts';
import type { Bodies } from '../../store/log/bodies.ts';
import type { BoundaryEntry, Entry } from '../../store/log/entries.ts';
import { chooseKept, type Scale } from './choose-kept.ts';
import { maySign, sign } from './sign.ts';
import type { SmallModel, SummaryDeps } from './small-model.ts';
import { strictlySmaller } from './summarize.ts';

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
  /** Instructions beside ours. */
  readonly more: readonly string[];
};

export type SignedBoundary =
  | { readonly kind: 'made'; readonly boundary: BoundaryEntry }
  /** It cannot be asked for, or nothing is there to be summarised. */
  | { readonly kind: 'none' }
  | { readonly kind: 'unsigned'; readonly detail: string; readonly failure?: AskFailure }
  /** A stop. */
  | { readonly kind: 'nothing' };

/** Throws only what is a bug. */
export async function signedBoundary(work: SignedWork): Promise<SignedBoundary> {
  const { input, chosen, entries, bodies, scale, small, more } = work;
  const { model } = chosen;
  const { trigger } = input;
  const signing = { ...work, maxOutput: input.maxOutput };
  if (!maySign(signing)) return { kind: 'none' };
  const characters = model.window * scale.charactersPerToken;
  const kept = chooseKept(entries, bodies, { characters, trigger, plain: true, fromReply: true });
  if (!kept) return { kind: 'none' };
  const asked = await sign(signing, kept.from, small, more);
  if (asked.kind === 'aborted') return { kind: 'nothing' };
  if (asked.kind === 'failed') return { kind: 'unsigned', detail: asked.failure.detail, failure: asked.failure };
  const { block, keepsThinking } = asked;
  const before = scale.tokens(entries, bodies);
  const by = { signed: block, ...(keepsThinking && { keepsThinking }) };
  const summary = strictlySmaller({ entries, bodies, model, scale, trigger, kept, before }, block.content, by);
  if (summary.kind === 'made') return summary;
  return { kind: 'unsigned', detail: summary.kind === 'failed' ? summary.detail : summary.kind };
}

/** It costs what the model has thought, so that it is said. */
export function reportUnsigned({ deps, config, input, chosen }: SignedWork, detail: string): void {
  const { name } = chosen.model;
  const words = deps.models.isRefused(name, REFUSABLE.summaries)
    ? `the server of ${name} makes no summaries: ours are made instead`
    : `${name} made no summary: ours is made instead, and its thinking is not kept`;
  deps.log('warn', `${words} (${detail})`, { ...runFields(config), iteration: input.iteration });
}
