// Takes a person's answer to a question of the model (L81), and reads the input of a call as a
// person writes it: one JSON object.
import { answerProblem } from '../../client/faces/sessions.ts';
import type { WaitingApproval, PerdureClient } from '../../client/faces/types.ts';
import { oneLine } from '../../client/faces/start.ts';
import { areNumbered, parseQuestion } from '../../client/faces/words.ts';
import { UsageError } from '../errors.ts';

type Person = { readonly sessions: Pick<PerdureClient, 'answer'> };

/** Sends the answer. Throws UsageError for a text that cannot be one. */
export async function answerFromLine({ sessions }: Person, question: WaitingApproval, line: string): Promise<void> {
  const { session, call, input } = question;
  const text = chooseAnswer(input, line);
  const problem = answerProblem(text);
  if (problem !== undefined) throw new UsageError(problem);
  await sessions.answer(session, call, text);
}

/**
 * Returns the option that a number means, unless options are numbers themselves, or the text.
 * Throws UsageError for an answer that is not offered.
 */
export function chooseAnswer(input: unknown, answer: string): string {
  const { options } = parseQuestion(input);
  const text = answer.trim();
  if (options.length === 0 || options.includes(text)) return text;
  const numbered = areNumbered(options);
  const option = numbered && /^\d+$/.test(text) ? options[Number(text) - 1] : undefined;
  if (option !== undefined) return option;
  const what = text === '' ? 'an empty answer' : oneLine(text, 80);
  const wanted = numbered ? `a number from 1 to ${options.length}` : 'one of the options, as it is written';
  throw new UsageError(`${what} is not offered: give ${wanted}`);
}

/** Reads the input of a call, one JSON object. Throws UsageError. */
export function parseCallInput(text: string): Readonly<Record<string, unknown>> {
  const value = parseJson(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError(`the input ${oneLine(text, 80)} is not a JSON object: write it as {"name": "value"}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const why = error instanceof SyntaxError ? error.message : String(error);
    throw new UsageError(`the input is not JSON: ${oneLine(why, 200)}`);
  }
}
