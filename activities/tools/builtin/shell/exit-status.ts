// Which exit statuses are answers and not failures: `grep` that finds nothing ends with 1 (L36).
import { parseShell, type SimpleCommand } from './parse-shell.ts';

const ANSWERS_WITH_1 = new Set('[ cmp comm diff egrep fgrep grep pgrep rg test which command type'.split(' '));
/** What may stand before such a command in a chain of `&&` and leave its 1 an answer. */
const NEVER_MIND = new Set([...ANSWERS_WITH_1, 'cd', 'echo', 'printf', 'pwd', 'true']);

/** Whether `status` is an answer of the command that gave it. What cannot be read for certain is a failure. */
export function isAnswer(command: string, status: number): boolean {
  if (status !== 1) return status === 0;
  const commands = parseShell(command);
  const last = commands?.at(-1);
  if (commands === null || last === undefined || !ANSWERS_WITH_1.has(nameOf(last))) return false;
  return chainBefore(commands).every((earlier) => NEVER_MIND.has(nameOf(earlier)));
}

/** The commands whose failure would have ended the list before its last: those joined to it by `&&`, each the end of its pipeline. */
function chainBefore(commands: readonly SimpleCommand[]): readonly SimpleCommand[] {
  const chain: SimpleCommand[] = [];
  let joint = commands.at(-1)?.joint;
  for (let at = commands.length - 2; at >= 0; at--) {
    const command = commands[at] as SimpleCommand;
    if (joint === '&&') chain.push(command);
    else if (joint !== '|') break;
    joint = command.joint;
  }
  return chain;
}

function nameOf({ words }: SimpleCommand): string {
  const [name, second] = words;
  return name?.text === 'git' && second?.text === 'grep' ? 'grep' : (name?.text ?? '');
}
