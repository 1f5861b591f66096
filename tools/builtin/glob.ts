// The glob tool: files by name, as ripgrep lists them (ignore files heeded, links not followed),
// matched here.
import { z } from 'zod';
import { defineTool, ToolFailure, type Tool } from '../tool.ts';
import { quotePath, fromRoot, workspaceOf } from './files/confine.ts';
import { globMatcher } from './search/glob-match.ts';
import { shownBytes } from './files/lookalikes.ts';
import { type BuiltinOptions, formatCount, shownName } from './files/options.ts';
import {
  commonArguments,
  namesFrom,
  ripgrep,
  searchNotes,
  searchPlace,
  shownIn,
  withoutDot,
  type SearchPlace,
  topOf,
} from './search/ripgrep.ts';
import { searchPattern } from './search/search-pattern.ts';

const MOST = 1_000;

export function globTool(options: BuiltinOptions): Tool {
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
      const workspace = workspaceOf(context, options.dataDir);
      const place = await searchPlace(workspace, path);
      if (!place.isFolder) throw new ToolFailure(`${quotePath(path ?? '.')} is a file: give the folder to search.`);
      const wanted = await searchPattern(place, pattern);
      const matches = globMatcher(wanted);
      const found = topOf(MOST);
      const shown = shownIn(context, place);
      const shownFrom = namesFrom(context, place);
      const args = ['--files', '--null', ...commonArguments(workspace, place, [wanted]), ...hiddenToo(wanted, place)];
      const end = await ripgrep(
        [...args, '--', place.argument],
        { separator: 0, place },
        context,
        options,
        (record) => {
          const name = withoutDot(shownBytes(record));
          const below = place.within(name);
          if (below !== null && matches(below) && shown(name)) found.add(shownName(shownFrom(name)));
        },
      );
      return { content: [...found.first(), summary(found.count()), ...searchNotes(end, context)].join('\n') };
    },
  });
}

function summary(files: number): string {
  if (files === 0) return '(no files match)';
  return files > MOST ? `(${files} files, first ${MOST} shown)` : `(${formatCount(files, 'file')})`;
}

function hiddenToo(pattern: string, { name }: SearchPlace): string[] {
  return [pattern, name].some((text) => /(?:^|[/,{])\.[^/]/.test(text)) ? ['--hidden'] : [];
}
