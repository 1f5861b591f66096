// Asks a session's own model a question aside, in parallel with the current run and without a trace
// in the conversation.
import type { Client } from '@temporalio/client';
import type { Usage } from '../../../workflows/contract/loop.ts';
import type { AsideAnswer } from '../../../workflows/contract/aside.ts';
import { UPDATES } from '../../../workflows/contract/session.ts';
import type { SessionDescription } from '../info.ts';
import { updateAndWait } from './update.ts';

/** Milliseconds: longer than a worker may take for it. */
const ANSWER_MS = 11 * 60_000;

/** An answer. `cut`: it had more text than is kept. `costUsd`: null when a price is not known. */
export type SideAnswer = {
  readonly answer: string;
  readonly cut: boolean;
  readonly model: string;
  readonly usage: Usage;
  readonly costUsd: number | null;
};

/** Throws ClientProblem. */
export async function requestAside(
  temporal: Client,
  described: SessionDescription,
  question: string,
  by: string,
): Promise<SideAnswer> {
  const { session } = described;
  const workers = () => Promise.resolve(described);
  const about = { temporal, session, name: UPDATES.aside, arg: { question }, signed: { by }, workers };
  const { text: answer, usd: costUsd, ...rest } = await updateAndWait<AsideAnswer>(about, ANSWER_MS);
  return { answer, costUsd, ...rest };
}
