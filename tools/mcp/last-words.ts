// Chooses, from what a program printed before its end, the words that say why it ended: many print
// stack frames, versions and hints behind them.
import { clip } from '../../system/text.ts';

const LONGEST = 300;

/** Lines that tell nothing by themselves, in any order. */
const EMPTY_WORDS = [
  /^\s*$/,
  // Stack frames, carets, and properties of an error of Node.
  /^\s/,
  /^[{}[\]()^,;~.\s]+$/,
  /^Node\.js v\d/,
  /^(Bun|Deno) v\d/,
  /^\(Use `node --trace/,
  /^Require stack:$/,
  /^- \//,
  // Go, Rust, the shells of both.
  /^(goroutine \d+ \[|created by |exit status \d+$)/,
  /^[\w./*-]+\(.*\)$/,
  /^(note: .*RUST_BACKTRACE|stack backtrace:$)/,
  // npm, docker, Python.
  /^npm (error|ERR!) (A complete log|code |errno |syscall |path |404$)/,
  /^(See|Run) 'docker/,
  /^Traceback \(most recent call last\)/,
];

/** Lines that name an error. */
const ERRORS = [
  /^npm (error|ERR!) \S/,
  /^(\[cause\]: |Caused by: |Uncaught |Unhandled |\[)?[\w.$]*(Error|Exception|Rejection)\b[^:]*:/,
  /^(error|fatal|panic|fatal error|docker:|thread '.*' .*panicked)(?!\w)/i,
];

/** Returns a line, and what belongs to it; the empty text where nothing was printed. */
export function chooseLastWords(printed: string): string {
  const lines = printed.split(/\r?\n/).map((line) => line.trimEnd());
  const isEmpty = (line: string): boolean => EMPTY_WORDS.some((words) => words.test(line));
  const isError = (line: string): boolean => !isEmpty(line) && ERRORS.some((words) => words.test(line));
  // npm says first what is wrong, and others last.
  const isNpm = lines.some((line) => /^npm (error|ERR!) code /.test(line));
  const at = isNpm ? lines.findIndex(isError) : lines.findLastIndex(isError);
  if (at === -1) return clip(lines.findLast((line) => !isEmpty(line))?.trim() ?? '', LONGEST);
  // The properties of an error of Node follow the brace.
  const line = (lines[at] ?? '').replace(/ \{$/, '');
  const rest = isNpm || line !== lines[at] ? [] : lines.slice(at + 1);
  const end = rest.findIndex((one) => isEmpty(one) && !/^ {2,4}\S(?!t )/.test(one));
  const more = end === -1 ? rest : rest.slice(0, end);
  return clip([line, ...more].map((one) => one.trim()).join(' '), LONGEST);
}
