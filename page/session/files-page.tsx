// Shows what a session did to files, as its snapshots tell and as its calls asked for: which call
// changed which, who allowed it, the change as a diff, and as a patch to copy. On the host of the
// session's folder it says whether a file is still as the last change left it.
import { readFile, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { createTwoFilesPatch } from 'diff';
import { codeOf, showUnseen } from '../../system/text.ts';
import type { FileChange, FileEdit, DiffRow } from '../../client/faces/types.ts';
import { SHOWN, diffRows } from '../../client/faces/words.ts';
import { callsText, listCommands, listReadFiles } from '../../client/faces/turns.ts';
import { formatCount } from '../../client/faces/basics.ts';
import type { SessionFeed } from '../feed/session-feed.ts';
import { EmptyCard, Icon } from '../primitives.tsx';
import { formatNumber } from '../figures.tsx';
import { Copy, htmlOf } from '../layout.tsx';
import type { PagePorts } from '../ports.ts';
import { changeCounts, CountWords, DiffFigure, DiffLines, type PatchLine } from '../transcript/call-input.tsx';
import { placeOf } from '../transcript/call-card.tsx';
import { readPatch, readSessionFiles, type SessionFile, type SessionFiles } from './session-files.ts';
import { placeIn, SessionShell } from './session-shell.tsx';
import { languageOf } from '../text/code-tokens.ts';
import { Tokens } from '../text/markdown-view.tsx';

export async function filesPage(
  feed: SessionFeed,
  ports: Pick<PagePorts, 'temporalUi' | 'diffOf'>,
  { path, at }: { readonly path: string | undefined; readonly at: number | undefined },
): Promise<string> {
  const place = placeIn(feed);
  const { seen: description, items } = feed.standing;
  const [read, commands] = [listReadFiles(items.all), listCommands(items.all)];
  const { files, problem, uncaptured, between, capture } = await readSessionFiles(ports, feed.standing, at);
  const selected = files.find((file) => file.path === path) ?? files[0];
  const patch = selected?.change ? await readPatch(ports, feed.standing, selected.change, between) : null;
  const onDisk = selected ? await describeOnDisk(description.cwd, selected) : null;
  const link = `/sessions/${description.session}`;
  return htmlOf(
    <SessionShell feed={feed} place={place} ui={ports.temporalUi(description.session)} part="files">
      <div id="files" class="files" data-fresh>
        <div class="file-list">
          {at === undefined ? null : (
            <p class="row">
              <span>
                {capture ? `By ${showUnseen(callsText(capture.calls) || 'a person or another program')}` : ''}
              </span>
              <a class="far" href={`${link}/files`}>
                All changes
              </a>
            </p>
          )}
          <FileList
            files={files}
            selected={selected}
            link={`${link}/files?${at === undefined ? '' : `capture=${at}&`}`}
          />
          {read.length === 0 ? null : (
            <>
              <h2>{`Read only · ${formatNumber(read.length)}`}</h2>
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
              <h2>{`Commands that may have changed files · ${formatNumber(commands.length)}`}</h2>
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
          {selected ? (
            <FileDetail file={selected} link={link} patch={patch} onDisk={onDisk} at={at} />
          ) : (
            <EmptyCard icon="file" title="No files changed" />
          )}
          {uncaptured.slice(0, MOST).map((line) => (
            <p class="quiet">{showUnseen(line)}</p>
          ))}
          {problem === null ? null : (
            <p class="quiet">{`Only changes made by calls are listed: ${showUnseen(problem)}.`}</p>
          )}
        </div>
      </div>
    </SessionShell>,
  );
}

/** Rows of a list. */
const MOST = 200;

type Counts = { readonly added: number; readonly removed: number };

/** Lines by the snapshots; by what calls asked for where no snapshot tells. */
function countLines({ change, edits }: SessionFile): Counts {
  if (change) return { added: change.insertions ?? 0, removed: change.deletions ?? 0 };
  return sumCounts(
    edits
      .filter(({ done }) => done === true)
      .map(({ before, after }) => changeCounts({ path: '', before: before ?? '', after })),
  );
}

const sumCounts = (counts: readonly Counts[]): Counts => ({
  added: counts.reduce((sum, { added }) => sum + added, 0),
  removed: counts.reduce((sum, { removed }) => sum + removed, 0),
});

type FileListProps = Pick<SessionFiles, 'files'> & {
  readonly selected: SessionFile | undefined;
  readonly link: string;
};

function FileList({ files, selected, link }: FileListProps) {
  return (
    <>
      <h2 class="row">
        {`${files.length} ${files.length === 1 ? 'file' : 'files'} changed`}
        <span class="far">
          <CountWords {...sumCounts(files.map(countLines))} />
        </span>
      </h2>
      <ul>
        {files.slice(0, MOST).map((file) => (
          <li>
            <a
              href={`${link}file=${encodeURIComponent(file.path)}`}
              aria-current={file === selected ? 'true' : undefined}
            >
              <span class="row">
                <Icon name="file" />
                <code class="cut">{showUnseen(file.path)}</code>
                <span class="far">
                  <CountWords {...countLines(file)} />
                </span>
              </span>
              <small>{fileWords(file)}</small>
            </a>
          </li>
        ))}
      </ul>
      {files.length > MOST ? <p class="quiet">{`${files.length - MOST} more: perdure diff shows them.`}</p> : null}
    </>
  );
}

const KINDS = { added: 'new', changed: '', deleted: 'deleted' } as const;

function fileWords({ change, edits, cause }: SessionFile): string {
  const last = edits.at(-1);
  const kind = change ? KINDS[change.kind] : '';
  const by = last ? [last.tool, `#${last.anchor.split('-')[1] ?? ''}`, editWords(last)] : [showUnseen(cause)];
  const applied = edits.filter(({ done }) => done === true).length;
  const count = applied > 1 ? formatCount(applied, 'change') : '';
  return [...by, count, kind].filter((part) => part !== '').join(' · ');
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
  patch,
  onDisk,
  at,
}: {
  readonly file: SessionFile;
  readonly link: string;
  /** From the first snapshot to the last; null where none is shown. */
  readonly patch: string | null;
  readonly onDisk: string | null;
  readonly at: number | undefined;
}) {
  const done = file.edits.filter((edit) => edit.done === true);
  const copied = patch ?? (done.length === 0 ? null : patchOf(file.path, done));
  return (
    <>
      <div class="row file-head">
        <h2 class="cut">
          <code>{showUnseen(file.path)}</code>
        </h2>
        <span class="row far">
          <SidesChoice />
          {copied === null ? null : <Copy text={copied} what="Copy as patch" />}
        </span>
      </div>
      {onDisk === null ? null : <p class="quiet">{`On disk: ${onDisk}`}</p>}
      {patch === null ? null : (
        <section class="edit">
          <p class="quiet">{at === undefined ? 'Total' : 'In this step'}</p>
          <PatchFigure path={file.path} patch={patch} />
        </section>
      )}
      {file.edits.map((edit) => (
        <section class={edit.done === false ? 'edit failed' : 'edit'}>
          <p class="row quiet">
            <a href={`${link}?at=${placeOf(edit.anchor)}#call-${edit.anchor}`}>
              {`${edit.tool} · #${edit.anchor.split('-')[1]}`}
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
async function describeOnDisk(
  cwd: string,
  { path, edits }: Pick<SessionFile, 'path' | 'edits'>,
): Promise<string | null> {
  const last = edits.findLast(({ done }) => done === true);
  if (last === undefined || last.replaced || cwd === '') return null;
  const file = isAbsolute(path) ? path : join(cwd, path);
  try {
    if (!(await stat(cwd)).isDirectory()) return null;
    const { size } = await stat(file);
    if (size > LARGEST) return 'too large to check';
    const text = await readFile(file, 'utf8');
    const isSame = last.before === null ? text === last.after : text.includes(last.after);
    if (isSame) return last.before === null ? 'unchanged since.' : 'the changed lines are still there.';
    return 'changed since.';
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return (await isFolder(cwd)) ? 'the file is gone.' : null;
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

// Shows a patch of one file, as `git diff` prints it.
function PatchFigure({ path, patch }: { readonly path: string; readonly patch: string }) {
  const from = patch.search(/^@@ /m);
  if (from < 0) return <p class="quiet">{describeBare(patch)}</p>;
  const hunks = patch.slice(from);
  const rows = hunks.slice(0, SHOWN).replace(/\n$/, '').split('\n');
  return (
    <figure class="diff">
      <DiffLines path={path} lines={rows.map(patchLine)} label="Changes in all" />
      {hunks.length > SHOWN ? (
        <p class="links">{`${formatCount(hunks.length - SHOWN, 'more character')}: copy the patch`}</p>
      ) : null}
    </figure>
  );
}

function patchLine(row: string): PatchLine {
  if (row.startsWith('@@') || row.startsWith('\\')) return { mark: '@', text: row };
  const mark = row.startsWith('+') ? '+' : row.startsWith('-') ? '-' : ' ';
  return { mark, text: row.slice(1) };
}

/** Says what a patch without lines does. */
function describeBare(patch: string): string {
  if (/^(GIT binary patch|Binary files )/m.test(patch)) return 'It is not UTF-8 text.';
  if (/^new file mode/m.test(patch)) return 'An empty file.';
  return /^old mode/m.test(patch) ? 'Its mode alone has changed.' : 'No lines have changed.';
}

/** A line of each text; null where it has none in this place. */
type SidePair = { readonly before: string | null; readonly after: string | null };

/** Puts added lines next to the removed ones that they follow; others stand on both sides. */
export function pairLines(lines: readonly DiffRow[]): readonly SidePair[] {
  const pairs: SidePair[] = [];
  let open = 0;
  for (const { mark, text } of lines) {
    const place = pairs.length - open;
    const pair = pairs[place];
    if (mark === '+' && open > 0 && pair) {
      pairs[place] = { ...pair, after: text };
      open -= 1;
      continue;
    }
    pairs.push({ before: mark === '+' ? null : text, after: mark === '-' ? null : text });
    open = mark === '-' ? open + 1 : 0;
  }
  return pairs;
}

/** Shows what is removed on the left, and what takes its place on the right. */
function SideBySide({ change: { path, before, after } }: { readonly change: FileChange }) {
  const language = languageOf(path);
  const side = (text: string | null, kind: 'add' | 'del' | undefined) =>
    text === null ? (
      <code class="none" />
    ) : (
      <code class={kind}>
        <Tokens language={language} text={text} />
      </code>
    );
  return (
    <div class="sides" tabindex={0} role="group" aria-label="Changes, side by side">
      {pairLines(diffRows(before, after).lines).map((pair) => {
        const isSame = pair.before === pair.after;
        return (
          <div>
            {side(pair.before, isSame ? undefined : 'del')}
            {side(pair.after, isSame ? undefined : 'add')}
          </div>
        );
      })}
    </div>
  );
}

/** Chooses how changes are shown; only a wide screen has room for the choice. */
function SidesChoice() {
  return (
    <span class="choice sides-choice" role="group" aria-label="Changes">
      <button type="button" data-sides="no" aria-pressed="true">
        One
      </button>
      <button type="button" data-sides="yes" aria-pressed="false">
        Side by side
      </button>
    </span>
  );
}
