// The grep tool: ripgrep over the workspace.
import { z } from 'zod';
import { defineTool, type Tool } from '../tool.ts';
import { fromRoot, toWorkspace } from './files/confine.ts';
import type { BuiltinOptions } from './files/options.ts';
import { refuseNul } from './files/wording.ts';
import { reportContent, reportCounts, reportFiles, type ReportPaths, type SearchReport } from './search/grep-report.ts';
import { buildCommonArguments, listHiddenFolders, runRipgrep, writeSearchNotes } from './search/ripgrep.ts';
import {
  createNamer,
  createShowTest,
  findSearchPlace,
  nameAbsolutely,
  type SearchPlace,
  namesFolder,
  resolvePattern,
} from './search/search-place.ts';
import { createGlobMatcher } from './search/glob-match.ts';

const NUL = 0;
const NEWLINE = 10;

const inputSchema = z.strictObject({
  pattern: z.string().max(10_000).describe('A regular expression (Rust syntax)'),
  path: z.string().optional().describe('The folder or file to search, the workspace if absent'),
  glob: z.string().min(1).max(1_000).optional().describe('Only files that match, such as *.ts or src/**/*.ts'),
  output_mode: z
    .enum(['content', 'files', 'count'])
    .optional()
    .describe('content (if absent): matching lines; files: names only; count: matching lines per file'),
  ignore_case: z.boolean().optional(),
  context: z.int().min(0).max(50).optional().describe('Lines to show around each match'),
  limit: z.int().min(1).max(10_000).optional().describe('Matches to show, 200 if absent; files, 1,000 if absent'),
});

type GrepInput = z.infer<typeof inputSchema>;

/** `absolute`: files are named by absolute paths. */
export function createGrepTool(options: BuiltinOptions, absolute = false): Tool {
  return defineTool({
    name: 'grep',
    description:
      'Searches the files of the workspace for a regular expression. Answers path:line:text, paths, or path:count, and ends with ' +
      'how many matches there are. Binary files, node_modules and files that .gitignore excludes are left out.',
    inputSchema,
    risk: 'read',
    recovery: 'rerun',
    subject: ({ path = '.' }, context) => ({ kind: 'path', path: fromRoot(path, context), tree: true, sieved: true }),
    async call(input, context) {
      refuseNul(input.pattern + (input.glob ?? ''), 'The pattern or glob');
      const workspace = toWorkspace(context, options.dataDir);
      const place = await findSearchPlace(workspace, input.path);
      const files = await createFileFilter(input.glob, place);
      const isVisible = createShowTest(context, place);
      const accepts = (path: string): boolean => place.within(path) !== null && files.accepts(path) && isVisible(path);
      const named = absolute ? nameAbsolutely(place) : createNamer(context, place);
      const report = createReport(input, { accepts, named });
      const args = [
        ...buildModeArguments(input),
        // These arguments go before the exclusions: of two that match, the later counts.
        ...files.arguments,
        ...buildCommonArguments(listHiddenFolders(options, place.root), place, [input.glob ?? '']),
        '--hidden',
        ...(NAMES_CR.test(input.pattern) ? [] : ['--crlf']),
        ...(input.ignore_case === true ? ['--ignore-case'] : []),
        `--regexp=${input.pattern}`,
        '--',
        place.argument,
      ];
      const separator = input.output_mode === 'files' ? NUL : NEWLINE;
      const end = await runRipgrep(
        args,
        { separator, place, onRecord: (record) => report.add(record) },
        context,
        options,
      );
      return { content: [...report.lines(), ...writeSearchNotes(end, context)].join('\n') };
    },
  });
}

/** A line ends with LF or CRLF, unless a pattern asks for the CR itself. */
const NAMES_CR = /\r|\\r|\\[xu]\{?0*d/i;

function buildModeArguments({ output_mode: mode, context }: GrepInput): string[] {
  if (mode === 'files') return ['--files-with-matches', '--null'];
  if (mode === 'count') return ['--count', '--with-filename', '--null'];
  const lines = [
    '--line-number',
    '--with-filename',
    '--no-heading',
    '--null',
    '--max-columns=500',
    '--max-columns-preview',
  ];
  return context === undefined ? lines : [...lines, `--context=${context}`];
}

function createReport({ output_mode: mode, limit }: GrepInput, paths: ReportPaths): SearchReport {
  if (mode === 'files') return reportFiles(limit ?? 1_000, paths);
  return mode === 'count' ? reportCounts(limit ?? 1_000, paths) : reportContent(limit ?? 200, paths);
}

// Chooses the files that grep looks at, by a glob. ripgrep's own --glob would bring back files that
// .gitignore excludes, so a pattern for names travels as a file type, and one for paths is matched
// here.
type FileFilter = {
  readonly arguments: readonly string[];
  /** Takes a path relative to the root of the search. */
  accepts(path: string): boolean;
};

/**
 * Makes a filter. A pattern without `/` is for names in any folder; with one, for paths from the
 * root or from where the search begins. Throws ToolFailure.
 */
async function createFileFilter(glob: string | undefined, place: SearchPlace): Promise<FileFilter> {
  if (glob === undefined) return { arguments: [], accepts: () => true };
  if (glob.startsWith('!')) return { arguments: [`--glob=${glob}`], accepts: () => true };
  const ofNames = glob.replace(/^(?:\.\/+)?(?:\*\*\/+)*/, '');
  if (
    !ofNames.includes('/') &&
    ofNames !== '' &&
    !ofNames.startsWith('include:') &&
    !(await namesFolder(place, ofNames))
  ) {
    const names = [ofNames, ...(/[[{]/.test(ofNames) ? [ofNames.replaceAll(/[\\*?[\]{}]/g, '\\$&')] : [])];
    return { arguments: [...names.map((name) => `--type-add=asked:${name}`), '--type=asked'], accepts: () => true };
  }
  const matches = createGlobMatcher(await resolvePattern(place, glob));
  return {
    arguments: [],
    accepts(path) {
      const below = place.within(path);
      return matches(path) || (below !== null && matches(below));
    },
  };
}
