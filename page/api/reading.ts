// Operations that only read.
import type { z } from 'zod';
import type { TranscriptEntry } from '../../client/index.ts';
import { ClientProblem } from '../../client/problem.ts';
import { present } from '../../workflows/contract/present.ts';
import { type ApiRequest, getRoute, type Route } from './route.ts';
import { nothing } from '../../client/operations/shapes.ts';
import * as shapes from './schemas.ts';

const SIZE = 200;
const LARGEST = 1_000;

export const readings: readonly Route[] = [
  getRoute(
    { name: 'list', path: '/sessions', says: 'Sessions, newest first or as the filter says.', answer: shapes.page },
    shapes.listing,
    ({ ports, signal }, query) => ports.page({ ...present(query), signal }),
  ),
  getRoute(
    { name: 'describe', path: '/sessions/{session}', says: 'All that is known of it.', answer: shapes.session },
    nothing,
    ({ ports, session }) => ports.describe(session),
  ),
  getRoute(
    {
      name: 'result',
      path: '/sessions/{session}/result',
      says: 'The outcome of a run that has ended; null when none has.',
      answer: shapes.outcome,
    },
    shapes.whichRun,
    async ({ ports, session, signal }, { run }) => ({ result: await ports.result(session, run, { signal }) }),
  ),
  getRoute(
    {
      name: 'transcript',
      path: '/sessions/{session}/transcript',
      says: 'All that was ever said, over compactions, a piece at a time.',
      answer: shapes.transcript,
    },
    shapes.reading,
    pieceOf,
  ),
  getRoute(
    {
      name: 'files',
      path: '/sessions/{session}/files',
      says: 'The captures of its files, and the calls that changed them.',
      answer: shapes.captures,
    },
    nothing,
    async ({ ports, session, signal }) => ({ captures: await ports.files(session, { signal }) }),
  ),
  getRoute(
    {
      name: 'diff',
      path: '/sessions/{session}/diff',
      says: 'What has changed in its folders between two points, and in all.',
      answer: shapes.diff,
    },
    shapes.diffing,
    ({ ports, session, signal }, { path, ...query }) =>
      ports.diff(session, { ...present(query), ...(path !== undefined && { paths: [path] }), signal }),
  ),
  ...['/approvals', '/sessions/{session}/approvals'].map((path) =>
    getRoute(
      {
        name: path === '/approvals' ? 'allApprovals' : 'approvals',
        path,
        says: 'Calls that wait for a decision and, with `question`, for an answer.',
        answer: shapes.approvals,
      },
      nothing,
      async ({ acting, session, signal }) => ({
        approvals: await acting.approvals(session === '' ? undefined : session, { signal }),
      }),
    ),
  ),
];

async function pieceOf(
  { ports, session, signal }: ApiRequest,
  { from = 0, size = SIZE }: z.infer<typeof shapes.reading>,
): Promise<object> {
  if (size < 1 || size > LARGEST)
    throw new ClientProblem('refused', `a piece of ${size} entries: give a whole number from 1 to ${LARGEST}`);
  const entries: TranscriptEntry[] = [];
  for await (const entry of ports.transcript(session, { from, signal })) {
    if (entries.length === size) return { entries, next: entry.position };
    entries.push(entry);
  }
  return { entries, next: null };
}
