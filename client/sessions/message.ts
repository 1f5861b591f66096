// Makes the message that carries a user's text into a session: a short text travels with the
// signal, a longer one is stored first and travels by hash.
import { type QuerySource, querySourceProblem } from '../../workflows/contract/facts.ts';
import { isName, LONGEST_NAME, type MessageBody, systemTextProblem } from '../../workflows/contract/people.ts';
import { traceparentProblem } from '../../workflows/contract/ids.ts';
import {
  type CompactionRequest,
  LONGEST_INSTRUCTIONS,
  type OptionChanges,
  type RunOptions,
  type SystemMessage,
  type UserMessage,
} from '../../workflows/contract/session.ts';
import { storeTextBody } from '../../store/log/bodies.ts';
import { ClientProblem } from '../problem.ts';
import { type Prompt, type PromptParts, parsePrompt } from './prompt.ts';
import { parseMessageId, newMessageId } from './ids.ts';
import { present } from '../../workflows/contract/present.ts';
import { RUN_OPTIONS } from '../../workflows/contract/run-options.ts';
import { withChanges, optionsProblem } from '../../workflows/contract/options-problem.ts';
import type { Store } from '../../store/values/store.ts';
import { modelProblem } from '../../models/find-model.ts';

/**
 * Stores a long text before it is sent, so that a message never refers to a missing body; a short
 * one travels with the signal. Throws StoreError.
 */
export async function messageBody(store: Store, { text, media }: PromptParts): Promise<MessageBody> {
  const stored = await Promise.all(
    media.map(async ({ bytes, ...medium }) => ({ ...medium, bytes: bytes.length, hash: await store.put(bytes) })),
  );
  return { ...(await storeTextBody(store, text)), ...(stored.length > 0 ? { media: stored } : {}) };
}

type MessageFacts = {
  readonly id?: string | undefined;
  readonly options?: OptionChanges | undefined;
  readonly traceparent?: string | undefined;
  readonly by?: string | undefined;
  readonly querySource?: QuerySource | undefined;
  readonly compact?: CompactionRequest | undefined;
  readonly systemMessage?: SystemMessage | undefined;
  readonly goalOnce?: GoalOnce | undefined;
};

/** Throws ClientProblem `refused`, StoreError. */
export async function messageOf(
  client: { readonly store: Store } & Omit<MessageFacts, 'id' | 'options'>,
  prompt: Prompt,
  { id = newMessageId(), options, traceparent = client.traceparent, by = client.by, ...how }: MessageFacts,
): Promise<UserMessage> {
  const read = parsePrompt(prompt);
  const unsigned = by === undefined ? undefined : nameProblem(by);
  const problem =
    unsigned ??
    querySourceProblem(how.querySource ?? client.querySource) ??
    traceparentProblem(traceparent) ??
    (options && (await findWrongOption(options))) ??
    (how.goalOnce && goalOnceProblem(how.goalOnce)) ??
    instructionsProblem(how.compact) ??
    (how.systemMessage && systemTextProblem(how.systemMessage));
  if (problem !== undefined) throw new ClientProblem('refused', problem);
  const checked = parseMessageId(id);
  const changes = options && Object.keys(options).length > 0 ? { options } : {};
  const body = await messageBody(client.store, read);
  const { querySource = client.querySource ?? 'sdk', compact, goalOnce, systemMessage: system } = how;
  const goal = goalOnce && { rubric: await storeTextBody(client.store, goalOnce.rubric), rounds: goalOnce.rounds };
  const facts = { ...(traceparent && { traceparent }), ...(by && { by }), ...present({ compact, goal, system }) };
  return { id: checked, body, ...changes, ...facts, querySource };
}

/** `rounds`: the most gradings, from 1 to 20. */
export type GoalOnce = { readonly rubric: string; readonly rounds: number };

const LONGEST_RUBRIC = 262_144;

function goalOnceProblem({ rubric, rounds }: GoalOnce): string | undefined {
  if (rubric.trim() === '') return 'the rubric is empty: say what must be true';
  if (rubric.length > LONGEST_RUBRIC)
    return `the rubric has ${rubric.length} characters: give at most ${LONGEST_RUBRIC}`;
  return RUN_OPTIONS.goalRounds.problemOf(rounds);
}

function instructionsProblem({ instructions = '' }: CompactionRequest = {}): string | undefined {
  const { length } = instructions;
  if (length <= LONGEST_INSTRUCTIONS) return undefined;
  return `the instructions for a compaction have ${length} characters: give at most ${LONGEST_INSTRUCTIONS}`;
}

/**
 * Returns a sentence that says what is wrong with the name of the person who acts, or undefined.
 */
export function nameProblem(by: string): string | undefined {
  const { length } = by;
  if (isName(by)) return undefined;
  return `the name of who acts has ${length} characters: give 1 to ${LONGEST_NAME}`;
}

/** Returns a sentence that says what is wrong with the options, or undefined. */
export async function findWrongOption(changes: OptionChanges): Promise<string | undefined> {
  const options = withChanges<Partial<RunOptions>>({}, changes);
  const { outputSchema } = options;
  const problem = optionsProblem(options) ?? modelProblem(options);
  if (problem !== undefined || outputSchema === undefined) return problem;
  // Few have a schema, and its compiler takes long to load.
  const { schemaProblem } = await import('../../system/schema/json-schema.ts');
  return schemaProblem(outputSchema);
}
