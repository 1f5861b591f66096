// Draws all iterations of a session as bars, from its transcript and the server's history.
import type { Client } from '@temporalio/client';
import { reasonOf } from '../../../system/text.ts';
import type { SessionReading } from '../read.ts';
import { transcriptItems } from './items.ts';
import { iterationName, iterationsOf, stepsByIteration, type StepsByName, withUnstored } from './iterations.ts';
import { stepReader } from './steps.ts';
import { type Bar, barOf } from './bars.ts';

/** `note` is a sentence when the bars know less than they could, otherwise null. */
type Timeline = { readonly bars: readonly Bar[]; readonly note: string | null };

export async function readTimeline(client: Client, reading: SessionReading, now: number): Promise<Timeline> {
  const { entries, first, description } = reading;
  const items = transcriptItems(first);
  items.add(entries);
  const stored = iterationsOf(items.all);
  const { steps, note } = await stepsOf(client, description.session);
  const bars = withUnstored(stored, steps, true).map((one) => barOf(one, steps.get(iterationName(one)) ?? [], now));
  return { bars, note: note ?? noteForgotten(steps, stored.length) };
}

type KnownSteps = { readonly steps: StepsByName; readonly note: string | null };

async function stepsOf(client: Client, session: SessionReading['description']['session']): Promise<KnownSteps> {
  try {
    return { steps: stepsByIteration(await stepReader(client)(session, 0, null)), note: null };
  } catch (error) {
    const why = `Temporal’s history cannot be read (${reasonOf(error)})`;
    return { steps: new Map(), note: `${why}: bars show what the transcript knows` };
  }
}

const noteForgotten = (steps: StepsByName, iterations: number): string | null =>
  steps.size > 0 || iterations === 0
    ? null
    : 'Temporal no longer has the history of this session: bars show what the transcript knows';
