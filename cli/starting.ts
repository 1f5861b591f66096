// Says at once that a command starts: loading it, and a server, takes seconds.
import { isPlain } from '../client/paint.ts';

type Terminal = { readonly isTTY?: boolean | undefined; write(text: string): unknown };
type Env = Readonly<Record<string, string | undefined>>;

/** Flags that every command has. */
export const EVERYWHERE: ReadonlySet<string> = new Set(['--verbose', '--plain']);

/** Commands that a person waits in front of. */
const SLOW: ReadonlySet<string> = new Set(['chat', 'run', 'watch', 'top', 'approvals', 'start-here']);

/**
 * Returns the function that takes the words away, once something else is shown. What is typed
 * meanwhile stands behind them, and goes to the row that it was meant for.
 */
export function sayStarting(args: readonly string[], { stderr, env }: { stderr: Terminal; env: Env }): () => void {
  const [first = 'chat'] = args.filter((arg) => !EVERYWHERE.has(arg));
  const name = first.startsWith('-') ? 'chat' : first;
  const isAbout = args.some((arg) => ['--help', '-h', '--version', '-V'].includes(arg));
  if (stderr.isTTY !== true || env['NO_COLOR'] || isPlain(env) || !SLOW.has(name) || isAbout) return () => undefined;
  stderr.write('\u001b[2mStarting…\u001b[22m ');
  let isShown = true;
  return () => {
    if (isShown) stderr.write('\r\u001b[K');
    isShown = false;
  };
}
