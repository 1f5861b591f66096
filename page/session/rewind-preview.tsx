// Says what going back to before a prompt would do, for a person who is asked whether to: which
// part of the conversation is left behind, which files change, and what stays done.
import { z } from 'zod';
import { showUnseen } from '../../system/text.ts';
import { countFiles, NOT_NAMED, notLookedText, warningLists } from '../../client/faces/turns.ts';
import { formatCount } from '../../client/faces/basics.ts';
import type { RewindOptions, RewindResult, SessionId } from '../../client/faces/types.ts';
import { htmlOf } from '../layout.tsx';
import type { PagePorts } from '../ports.ts';
import { CountWords } from '../transcript/call-input.tsx';

const PARTS = { both: 'Conversation and files', conversation: 'Conversation', files: 'Files' } as const;
type Part = keyof typeof PARTS;

/** `to` is the id of a prompt. */
export const rewindForm = z.object({
  to: z.string(),
  part: z.enum(['both', 'conversation', 'files']).default('both'),
  force: z.literal('true').optional(),
});

export function rewindChoice({ to, part, force }: z.infer<typeof rewindForm>): RewindOptions {
  return {
    to,
    ...(part === 'files' && { conversation: false }),
    ...(part === 'conversation' && { files: false }),
    ...(force === 'true' && { force: true }),
  };
}

/** Most files and effects to name. */
const MOST = 20;

/** Throws ClientProblem where it cannot go back there. */
export async function rewindPreview(
  { rewind }: Pick<PagePorts, 'rewind'>,
  session: SessionId,
  request: z.infer<typeof rewindForm>,
): Promise<string> {
  const plan = await rewind(session, { ...rewindChoice(request), dryRun: true });
  return htmlOf(
    <form hx-post={`/sessions/${session}/rewind`} hx-target="#said" data-rewind-form>
      <input type="hidden" name="to" value={request.to} />
      <fieldset class="choice-list">
        <legend class="unseen">What to restore</legend>
        {(Object.keys(PARTS) as Part[]).map((part) => (
          <label>
            <input type="radio" name="part" value={part} checked={part === request.part} /> {PARTS[part]}
          </label>
        ))}
      </fieldset>
      <PlanList plan={plan} />
      <label>
        <input type="checkbox" name="force" value="true" checked={request.force === 'true'} /> Overwrite files that
        others have changed since, or have open for writing
      </label>
      <div class="buttons">
        <button type="button" data-closes>
          Stay
        </button>
        <button class="first">Go back</button>
      </div>
    </form>,
  );
}

function PlanList({ plan }: { readonly plan: RewindResult }) {
  const { rewind, prompt, turns, files } = plan;
  const before = prompt === null ? 'an earlier point' : `before “${showUnseen(prompt)}”`;
  const where = rewind.to === null ? `its beginning, ${before}` : before;
  const notLooked = notLookedText(plan);
  return (
    <>
      {rewind.to === undefined ? null : (
        <p>{`The conversation goes back to ${where}: ${formatCount(turns, 'turn')} left behind, stored and counted.`}</p>
      )}
      {files === null ? <p>Files are restored on the machine that has them.</p> : null}
      {files === null || rewind.files === undefined ? null : <FileRows plan={plan} />}
      {notLooked === null ? null : <p class="warn">{showUnseen(`${sentence(notLooked)}.`)}</p>}
      {warningLists(plan).map(({ heading, lines }) => (
        <>
          <p class="warn">{sentence(heading)}</p>
          <ul class="plain-list">
            {lines.slice(0, MOST).map((line) => (
              <li>
                <code class="cut">{showUnseen(line)}</code>
              </li>
            ))}
            {lines.length > MOST ? <li class="quiet">{`and ${lines.length - MOST} more`}</li> : null}
          </ul>
        </>
      ))}
    </>
  );
}

const sentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

function FileRows({ plan }: { readonly plan: RewindResult }) {
  const { files } = plan;
  const count = countFiles(plan) ?? 0;
  return (
    <>
      <p>{count === 0 ? 'No files to restore.' : `${formatCount(count, 'file')} change:`}</p>
      <ul class="plain-list">
        {files?.slice(0, MOST).map(({ path, insertions, deletions, unnamed }) => (
          <li class="row">
            <code class="cut">{showUnseen(path.slice(0, 300))}</code>
            {unnamed ? <span class="quiet">{NOT_NAMED}</span> : null}
            <span class="far">
              <CountWords added={insertions ?? 0} removed={deletions ?? 0} />
            </span>
          </li>
        ))}
        {count > MOST ? <li class="quiet">{`and ${(count - MOST).toLocaleString('en')} more`}</li> : null}
      </ul>
    </>
  );
}

export function RewindRefused({ why }: { readonly why: string }) {
  return (
    <>
      <p class="bad">{showUnseen(why)}</p>
      <div class="buttons">
        <button type="button" data-closes>
          Close
        </button>
      </div>
    </>
  );
}

/** The place of the preview. */
export function RewindDialog({ path }: { readonly path: string }) {
  return (
    <dialog id="rewind" aria-labelledby="rewind-title" data-rewind-from={`${path}/rewind`}>
      <h2 id="rewind-title">Rewind to here</h2>
      <div id="rewind-plan" />
    </dialog>
  );
}
