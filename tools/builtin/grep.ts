// The grep tool: ripgrep over the workspace.
import { z } from 'zod';
import { defineTool, type Tool } from '../tool.ts';
import { fromRoot, workspaceOf } from './files/confine.ts';
import { type BuiltinOptions, refuseNul } from './files/options.ts';
import {
  contentReport,
  countReport,
  filesReport,
  type Report,
  type ReportPaths,
  fileFilter,
} from './search/grep-report.ts';
import { commonArguments, namesFrom, ripgrep, searchNotes, searchPlace, shownIn } from './search/ripgrep.ts';

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

export function grepTool(options: BuiltinOptions): Tool {
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
      const workspace = workspaceOf(context, options.dataDir);
      const place = await searchPlace(workspace, input.path);
      const files = await fileFilter(input.glob, place);
      const shown = shownIn(context, place);
      const accepts = (path: string): boolean => place.within(path) !== null && files.accepts(path) && shown(path);
      const report = reportFor(input, { accepts, named: namesFrom(context, place) });
      const args = [
        ...modeArguments(input),
        // Before the exclusions: of two that match, the later counts.
        ...files.arguments,
        ...commonArguments(workspace, place, [input.glob ?? '']),
        '--hidden',
        ...(NAMES_CR.test(input.pattern) ? [] : ['--crlf']),
        ...(input.ignore_case === true ? ['--ignore-case'] : []),
        `--regexp=${input.pattern}`,
        '--',
        place.argument,
      ];
      const separator = input.output_mode === 'files' ? NUL : NEWLINE;
      const end = await ripgrep(args, { separator, place }, context, options, (record) => report.add(record));
      return { content: [...report.lines(), ...searchNotes(end, context)].join('\n') };
    },
  });
}

/** The end of a line is LF or CRLF, unless a pattern asks for the CR itself. */
const NAMES_CR = /\r|\\r|\\[xu]\{?0*d/i;

function modeArguments({ output_mode: mode, context }: GrepInput): string[] {
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

function reportFor({ output_mode: mode, limit }: GrepInput, paths: ReportPaths): Report {
  if (mode === 'files') return filesReport(limit ?? 1_000, paths);
  return mode === 'count' ? countReport(limit ?? 1_000, paths) : contentReport(limit ?? 200, paths);
}
