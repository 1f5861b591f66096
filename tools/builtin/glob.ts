// The glob tool: files by name, as ripgrep lists them (ignore files heeded, links not followed),
// matched here.
import { z } from 'zod';
import { defineTool, ToolFailure, type Tool } from '../tool.ts';
import { fromRoot, toWorkspace } from './files/confine.ts';
import { quotePath } from './files/fs-failures.ts';
import { createGlobMatcher } from './search/glob-match.ts';
import { showNameBytes } from './files/lookalikes.ts';
import type { BuiltinOptions } from './files/options.ts';
import { formatAmount, quoteIfNeeded } from './files/wording.ts';
import { buildCommonArguments, listHiddenFolders, runRipgrep, writeSearchNotes } from './search/ripgrep.ts';
import {
  createNamer,
  findSearchPlace,
  createShowTest,
  nameAbsolutely,
  stripDot,
  type SearchPlace,
  resolvePattern,
} from './search/search-place.ts';
import { keepTopLines, type TopLines } from './search/grep-report.ts';

const MOST_FILES = 1_000;
const MOST_NEWEST = 200;

/** `newest`: those changed last come first, and files are named by absolute paths. */
export function createGlobTool(options: BuiltinOptions, newest = false): Tool {
  return defineTool({
    name: 'glob',
    description:
      'Lists files of the workspace whose path matches a glob (*, ?, [abc], {a,b}, ** for any folders), sorted, one per line. ' +
      'Files that .gitignore excludes are left out, and so are hidden ones and node_modules unless the pattern or path names them.',
    inputSchema: z.strictObject({
      pattern: z.string().min(1).max(1_000).describe('Such as src/**/*.ts; relative to path'),
      path: z.string().optional().describe('The folder to search, the workspace if absent'),
    }),
    risk: 'read',
    recovery: 'rerun',
    subject: ({ path = '.' }, context) => ({ kind: 'path', path: fromRoot(path, context), tree: true, sieved: true }),
    async call({ pattern, path }, context) {
      const workspace = toWorkspace(context, options.dataDir);
      const place = await findSearchPlace(workspace, path);
      if (!place.isFolder) throw new ToolFailure(`${quotePath(path ?? '.')} is a file: give the folder to search.`);
      const wanted = await resolvePattern(place, pattern);
      const matches = createGlobMatcher(wanted);
      const found = newest ? keepFirstLines(MOST_NEWEST) : keepTopLines(MOST_FILES);
      const isVisible = createShowTest(context, place);
      const shownFrom = newest ? nameAbsolutely(place) : createNamer(context, place);
      const args = [
        '--files',
        '--null',
        ...buildCommonArguments(listHiddenFolders(options, place.root), place, [wanted]),
        ...hiddenArguments(wanted, place),
        // Of two orders, the later counts.
        ...(newest ? ['--sortr=modified'] : []),
      ];
      const onRecord = (record: Buffer): void => {
        const name = stripDot(showNameBytes(record));
        const below = place.within(name);
        if (below !== null && matches(below) && isVisible(name)) found.add(quoteIfNeeded(shownFrom(name)));
      };
      const search = { separator: 0, place, onRecord };
      const end = await runRipgrep([...args, '--', place.argument], search, context, options);
      const [lines, summary] = [found.first(), summarizeFiles(found, newest)];
      return { content: [...lines, summary, ...writeSearchNotes(end, context)].join('\n') };
    },
  });
}

function summarizeFiles(found: TopLines, newest: boolean): string {
  const [files, listed] = [found.count(), found.first().length];
  if (files === 0) return '(no files match)';
  if (files === listed) return `(${formatAmount(files, 'file')})`;
  return `(${files} files, ${newest ? 'newest' : 'first'} ${listed} shown)`;
}

/** Keeps lines in the order in which they come. */
function keepFirstLines(most: number): TopLines {
  const lines: string[] = [];
  let count = 0;
  return {
    add(line) {
      if (count++ < most) lines.push(line);
    },
    count: () => count,
    first: () => lines,
  };
}

function hiddenArguments(pattern: string, { name }: SearchPlace): string[] {
  return [pattern, name].some((text) => /(?:^|[/,{])\.[^/]/.test(text)) ? ['--hidden'] : [];
}
