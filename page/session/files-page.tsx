// Shows what a session did to files: which call changed which, who allowed it, the change as a
// diff, and as a patch to copy. On the host of the session's folder it says whether a file is still
// as the last change left it.
import { readFile, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { createTwoFilesPatch } from 'diff';
import { codeOf, showUnseen } from '../../system/text.ts';
import type { FileChange } from '../../client/render/diff-rows.ts';
import type { TouchedFile, FileEdit } from '../../client/sessions/history/changed-files.ts';
import type { SessionFeed } from '../feed/session-feed.ts';
import { Icon } from '../icons.tsx';
import { Copy, htmlOf } from '../layout.tsx';
import type { PagePorts } from '../ports.ts';
import { changeCounts, CountWords, DiffFigure } from '../transcript/call-input.tsx';
import { placeOf } from '../transcript/call-card.tsx';
import { SideBySide, SidesChoice } from '../transcript/side-by-side.tsx';
import { transcriptFacts } from './session-facts.ts';
import { placeIn, SessionShell } from './session-shell.tsx';

export async function filesPage(
  feed: SessionFeed,
  { temporalUi }: Pick<PagePorts, 'temporalUi'>,
  path: string | undefined,
): Promise<string> {
  const place = placeIn(feed);
  const { seen, items } = feed.standing;
  const { changed, read, commands } = transcriptFacts(items).files;
  const shown = changed.find((file) => file.path === path) ?? changed[0];
  const link = `/sessions/${seen.session}`;
  return htmlOf(
    <SessionShell feed={feed} place={place} ui={temporalUi(seen.session)} part="files">
      <div id="files" class="files" data-fresh>
        <div class="file-list">
          <h2 class="row">
            {`${changed.length} ${changed.length === 1 ? 'file' : 'files'} changed`}
            <span class="far">
              <CountWords {...sumCounts(changed.flatMap(({ edits }) => edits))} />
            </span>
          </h2>
          <ul>
            {changed.map((file) => (
              <li>
                <a
                  href={`${link}/files?file=${encodeURIComponent(file.path)}`}
                  aria-current={file === shown ? 'true' : undefined}
                >
                  <span class="row">
                    <Icon name="file" />
                    <code class="cut">{showUnseen(file.path)}</code>
                    <span class="far">
                      <CountWords {...sumCounts(file.edits)} />
                    </span>
                  </span>
                  <small>{fileWords(file)}</small>
                </a>
              </li>
            ))}
          </ul>
          {read.length === 0 ? null : (
            <>
              <h2>{`Read only, ${read.length}`}</h2>
              <ul class="plain-list">
                {read.slice(0, MOST).map(({ path: name, times }) => (
                  <li class="row">
                    <Icon name="read" />
                    <code class="cut">{showUnseen(name)}</code>
                    <small class="far">{times > 1 ? `${times} ×` : ''}</small>
                  </li>
                ))}
              </ul>
            </>
          )}
          {commands.length === 0 ? null : (
            <>
              <h2>{`Commands that may have changed files, ${commands.length}`}</h2>
              <ul class="plain-list">
                {commands.slice(0, MOST).map(({ command, times, anchor }) => (
                  <li class="row">
                    <Icon name="shell" />
                    <a class="cut" href={`${link}?at=${placeOf(anchor)}#call-${anchor}`}>
                      <code>{showUnseen(command.replaceAll('\n', ' ').slice(0, 200))}</code>
                    </a>
                    <small class="far">{times > 1 ? `${times} ×` : ''}</small>
                  </li>
                ))}
              </ul>
            </>
          )}
        </div>
        <div class="file-detail">
          {shown ? (
            <FileDetail file={shown} link={link} onDisk={await describeOnDisk(seen.cwd, shown)} />
          ) : (
            <p class="quiet">No call has changed a file. What commands change is not known here.</p>
          )}
        </div>
      </div>
    </SessionShell>,
  );
}

/** Rows of a list. */
const MOST = 200;

function sumCounts(edits: readonly FileEdit[]): { readonly added: number; readonly removed: number } {
  const counts = edits
    .filter(({ done }) => done === true)
    .map(({ before, after }) => changeCounts({ path: '', before: before ?? '', after }));
  return {
    added: counts.reduce((sum, { added }) => sum + added, 0),
    removed: counts.reduce((sum, { removed }) => sum + removed, 0),
  };
}

function fileWords({ edits }: TouchedFile): string {
  const last = edits.at(-1);
  if (!last) return '';
  const [, turn = ''] = last.anchor.split('-');
  return [last.tool, `turn ${turn}`, edits.length > 1 ? `${edits.length} changes` : '', editWords(last)]
    .filter((part) => part !== '')
    .join(' · ');
}

function editWords({ done, by, replaced, before }: FileEdit): string {
  if (done === null) return 'not done yet';
  if (!done) return 'failed or denied';
  const who = by === undefined ? '' : `allowed by ${showUnseen(by.slice(0, 60))}`;
  return [before === null ? 'written whole' : '', who, replaced ? 'with another input' : '']
    .filter((part) => part !== '')
    .join(', ');
}

function FileDetail({
  file,
  link,
  onDisk,
}: {
  readonly file: TouchedFile;
  readonly link: string;
  readonly onDisk: string | null;
}) {
  const done = file.edits.filter((edit) => edit.done === true);
  return (
    <>
      <div class="row file-head">
        <h2 class="cut">
          <code>{showUnseen(file.path)}</code>
        </h2>
        <span class="row far">
          <SidesChoice />
          {done.length === 0 ? null : <Copy text={patchOf(file.path, done)} what="Copy as patch" />}
        </span>
      </div>
      {onDisk === null ? null : <p class="quiet">{`Still so on disk? ${onDisk}`}</p>}
      {file.edits.map((edit) => (
        <section class={edit.done === false ? 'edit failed' : 'edit'}>
          <p class="row quiet">
            <a href={`${link}?at=${placeOf(edit.anchor)}#call-${edit.anchor}`}>
              {`${edit.tool}, turn ${edit.anchor.split('-')[1]}`}
            </a>
            <span>{editWords(edit)}</span>
          </p>
          <EditFigure change={{ path: file.path, before: edit.before ?? '', after: edit.after }} />
        </section>
      ))}
    </>
  );
}

function EditFigure({ change }: { readonly change: FileChange }) {
  return <DiffFigure change={change} sides={<SideBySide change={change} />} />;
}

/** Writes the changes as a patch, one after the other: places in the file are not known here. */
export function patchOf(path: string, edits: readonly Pick<FileEdit, 'before' | 'after'>[]): string {
  return edits
    .map(({ before, after }) =>
      before === null
        ? createTwoFilesPatch('/dev/null', `b/${path}`, '', after, undefined, undefined, { context: 3 })
        : createTwoFilesPatch(`a/${path}`, `b/${path}`, withEnd(before), withEnd(after), undefined, undefined, {
            context: 3,
          }),
    )
    .map((patch) => patch.replace(/^=+\n/, ''))
    .join('');
}

const withEnd = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

const LARGEST = 2_000_000;

/**
 * Says whether the file has what the last change left there. Null where the folder is not on this
 * machine.
 */
export async function describeOnDisk(cwd: string, { path, edits }: TouchedFile): Promise<string | null> {
  const last = edits.findLast(({ done }) => done === true);
  if (last === undefined || last.replaced || cwd === '') return null;
  const file = isAbsolute(path) ? path : join(cwd, path);
  try {
    if (!(await stat(cwd)).isDirectory()) return null;
    const { size } = await stat(file);
    if (size > LARGEST) return 'too large to look';
    const text = await readFile(file, 'utf8');
    const isSame = last.before === null ? text === last.after : text.includes(last.after);
    if (isSame) return last.before === null ? 'Yes, unchanged since.' : 'Yes, the changed lines are there.';
    return 'No, it was changed since.';
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return (await isFolder(cwd)) ? 'No, the file is gone.' : null;
    if (code === 'EACCES' || code === 'EPERM' || code === 'ENOTDIR') return null;
    throw error;
  }
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return false;
  }
}
