// Outcomes of a session (G72): the event that defines one, its grading spans, and its state. An
// outcome is open as long as the run that works toward it.
import type {
  BetaManagedAgentsOutcomeEvaluationResource,
  BetaManagedAgentsSpanModelUsage,
} from '@anthropic-ai/sdk/resources/beta/sessions';
import { noUsage } from '../../client/faces/contract.ts';
import { bodyText } from '../../client/faces/stored.ts';
import type { Bodies, Entry, GradedNotice, MessageBody, RunEnded, Usage } from '../../client/faces/types.ts';
import { terminalDetail } from '../../client/faces/words.ts';
import { invalid, type ManagedError } from '../errors.ts';
import { formatTime, outcomeId } from '../ids.ts';
import { messageEventId, type Outcome, type Part, partId, type Projection, type Step } from './parts.ts';

type Prompt = Extract<Entry, { kind: 'user' }>;
type Grade = GradedNotice['grade'];

/** An outcome that a run takes up ends the one before, which nothing grades any more. */
export function definedPart(projection: Projection, entry: Prompt & { readonly goal: object }): Step {
  const { session, outcomes, time } = projection;
  const event = messageEventId(session, entry.id);
  const { goal, body } = entry as Required<Prompt>;
  const outcome_id = outcomeId(event);
  const type = 'user.define_outcome';
  const part: Part = {
    id: event,
    type,
    make: (about, bodies) => ({
      ...about,
      type,
      outcome_id,
      description: bodyText(body, bodies),
      max_iterations: goal.rounds,
      rubric: { type: 'text', content: bodyText(goal.rubric, bodies) },
    }),
  };
  const before = outcomes.map((one) => (isOpen(one) ? { ...one, result: 'interrupted', completedAt: time } : one));
  return { parts: [part], next: { outcomes: [...before, newOutcome(event, body)] } };
}

const newOutcome = (event: string, description: MessageBody): Outcome => ({
  id: outcomeId(event),
  description,
  iteration: 0,
  start: '',
  result: 'running',
  explanation: null,
  completedAt: null,
});

export const isOpen = ({ completedAt }: Outcome): boolean => completedAt === null;

const openOutcome = ({ outcomes }: Projection): Outcome | undefined => outcomes.findLast(isOpen);

const withOutcome = ({ outcomes }: Projection, changed: Outcome): readonly Outcome[] =>
  outcomes.map((one) => (one.id === changed.id ? changed : one));

export function gradingParts(projection: Projection, round: number): Step {
  const outcome = openOutcome(projection);
  if (!outcome) return { parts: [], next: {} };
  const iteration = round - 1;
  const type = 'span.outcome_evaluation_start';
  const id = partId(projection, projection.position, 'grading');
  const part: Part = { id, type, make: (about) => ({ ...about, type, iteration, outcome_id: outcome.id }) };
  const outcomes = withOutcome(projection, { ...outcome, iteration, start: id, result: 'evaluating' });
  return { parts: [part], next: { outcomes } };
}

const RESULTS: Readonly<Record<Grade, string>> = {
  met: 'satisfied',
  not_met: 'needs_revision',
  rounds_spent: 'max_iterations_reached',
  not_applicable: 'failed',
};

export function gradedParts(projection: Projection, { grade, text, spend, at }: GradedNotice): Step {
  const outcome = openOutcome(projection);
  if (!outcome) return { parts: [], next: {} };
  const result = RESULTS[grade];
  const stays =
    grade === 'not_met'
      ? { result: 'running', start: '', iteration: outcome.iteration + 1 }
      : { result, completedAt: at };
  const outcomes = withOutcome(projection, { ...outcome, explanation: text, ...stays });
  return { parts: [endPart(projection, outcome, { result, text, usage: spend.usage })], next: { outcomes } };
}

/** A run that ends before its outcome has a last grade ends that as well. */
export function ungradedParts(projection: Projection, { terminal, at }: RunEnded): Step {
  const outcome = openOutcome(projection);
  if (!outcome) return { parts: [], next: {} };
  const isStopped = terminal.reason === 'aborted_streaming' || terminal.reason === 'aborted_tools';
  const result = isStopped ? 'interrupted' : 'failed';
  const text = `The run ended before the outcome was satisfied: ${terminalDetail(terminal) ?? terminal.reason}`;
  const outcomes = withOutcome(projection, { ...outcome, explanation: text, result, completedAt: at });
  return { parts: [endPart(projection, outcome, { result, text, usage: noUsage })], next: { outcomes } };
}

type Verdict = { readonly result: string; readonly text: string; readonly usage: Usage };

function endPart(projection: Projection, { id, iteration, start }: Outcome, { result, text, usage }: Verdict): Part {
  const type = 'span.outcome_evaluation_end';
  return {
    id: partId(projection, projection.position, 'graded'),
    type,
    make: (about) => ({
      ...about,
      type,
      outcome_id: id,
      outcome_evaluation_start_id: start,
      iteration,
      result,
      explanation: text,
      usage: spanUsage(usage),
    }),
  };
}

/** Token usage as a span of the API has it. */
export const spanUsage = ({ input, output, cacheRead, cacheWrite }: Usage): BetaManagedAgentsSpanModelUsage => ({
  input_tokens: input,
  output_tokens: output,
  cache_creation_input_tokens: cacheWrite,
  cache_read_input_tokens: cacheRead,
});

export const outcomeProblem = (why: string, param?: string): ManagedError =>
  invalid(`Only one outcome is supported at a time: ${why}`, param, 'outcome_active');

/** An outcome that was sent, and that no run has taken up yet. */
export const pendingOutcome = (event: string, description: MessageBody): Outcome => ({
  ...newOutcome(event, description),
  result: 'pending',
});

export const showOutcome = (
  { id, description, iteration, result, explanation, completedAt }: Outcome,
  bodies: Bodies,
): BetaManagedAgentsOutcomeEvaluationResource => ({
  type: 'outcome_evaluation',
  outcome_id: id,
  description: bodyText(description, bodies),
  iteration,
  result,
  explanation,
  completed_at: completedAt === null ? null : formatTime(completedAt),
});
