// The glob tool: files by name, as ripgrep lists them (ignore files heeded, links not followed),
// matched here.
import { z } from 'zod';
import { defineTool, ToolFailure, type Tool } from '../tool.ts';
import { toWorkspace } from './files/confine.ts';
import { fromRoot } from './files/working-paths.ts';
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
  stripDot,
  type SearchPlace,
  resolvePattern,
} from './search/search-place.ts';
import { keepTopLines } from './search/grep-report.ts';

const MOST_FILES = 1_000;

export function createGlobTool(options: BuiltinOptions): Tool {
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
      const found = keepTopLines(MOST_FILES);
      const isVisible = createShowTest(context, place);
      const shownFrom = createNamer(context, place);
      const args = [
        '--files',
        '--null',
        ...buildCommonArguments(listHiddenFolders(options, place.root), place, [wanted]),
        ...hiddenArguments(wanted, place),
      ];
      const onRecord = (record: Buffer): void => {
        const name = stripDot(showNameBytes(record));
        const below = place.within(name);
        if (below !== null && matches(below) && isVisible(name)) found.add(quoteIfNeeded(shownFrom(name)));
      };
      const search = { separator: 0, place, onRecord };
      const end = await runRipgrep([...args, '--', place.argument], search, context, options);
      return {
        content: [...found.first(), summarizeFiles(found.count()), ...writeSearchNotes(end, context)].join('\n'),
      };
    },
  });
}

function summarizeFiles(files: number): string {
  if (files === 0) return '(no files match)';
  return files > MOST_FILES ? `(${files} files, first ${MOST_FILES} shown)` : `(${formatAmount(files, 'file')})`;
}

function hiddenArguments(pattern: string, { name }: SearchPlace): string[] {
  return [pattern, name].some((text) => /(?:^|[/,{])\.[^/]/.test(text)) ? ['--hidden'] : [];
}
