// Describes one attempt of a model call. The files of this folder pass it on as `step`.
import type { ModelDeps } from '../model-deps.ts';
import type { Attempt } from '../attempt.ts';
import type { CallModel, ModelResult } from '../../workflows/contract/activities.ts';
import type { FilesEntry } from '../../store/snapshots/files-entry.ts';
import type { RunConfig } from '../../store/configuration.ts';
import type { ChosenModel } from './request.ts';
import type { AnswerCheck } from './answer-schema.ts';
import type { LiveWriter } from '../../store/live/events.ts';
import type { ExtendedView } from '../../store/transcript/transcripts.ts';
import type { StepRecord } from '../step-record.ts';
import type { SentIds } from '../../store/transcript/call-ids.ts';
import type { Tries } from './refused/failed-attempt.ts';

/** One attempt of one model call, with the values that it works on. */
export type ModelStep = {
  readonly deps: ModelDeps;
  readonly attempt: Attempt;
  readonly input: CallModel;
  readonly config: RunConfig;
  readonly chosen: ChosenModel;
  /** Says what is wrong with a final answer; undefined for one that passes (L53). */
  readonly checkAnswer: AnswerCheck;
  readonly live: LiveWriter;
  readonly base: ExtendedView;
  /** The ids of the calls in its request, once the request exists. */
  readonly callIds?: Pick<SentIds, 'has'>;
  readonly record: StepRecord<ModelResult>;
  /** The changes in the run's folders, captured while the model answers (T1). */
  readonly files?: Promise<FilesEntry | null>;
  /** The counts of the attempts before this one. */
  readonly tries: Tries;
};
