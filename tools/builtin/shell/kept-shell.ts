// Keeps a shell's working directory and exported variables from one command of a session to the
// next, although each command has a shell of its own (G51). The folder is reported at the end of
// the output, and is checked before it counts. Variables stay in a file that the session's own
// commands write and read in their sandbox: Perdure never reads it.
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from '../../../system/json.ts';
import { isInside, listEntries, realOf } from '../../../system/process/places.ts';

/** Shells whose last command is so many days past are forgotten. */
const KEPT_DAYS = 30;
const DAY_MS = 24 * 3_600_000;
const LONGEST_PATH = 4_096;

/** Keeps the shells of sessions in folders of their own. */
export class ShellStates {
  readonly #root: string;
  /** Milliseconds since the epoch: when old shells were looked for last. */
  #swept = 0;

  constructor(dataDir: string) {
    this.#root = join(dataDir, 'shells');
  }

  /** Removes what was not used for long. `now` is in milliseconds since the epoch. */
  sweep(now: number): void {
    this.#swept = now;
    const changedAt = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    for (const place of listEntries(this.#root).map(({ name }) => join(this.#root, name))) {
      const last = Math.max(changedAt(place), changedAt(join(place, VARIABLES)));
      if (last < now - KEPT_DAYS * DAY_MS) removeShell(place);
    }
  }

  /** Makes the folder of the session's variables where it is missing, and returns it. */
  open(session: string): string {
    const now = Date.now();
    if (now - this.#swept > DAY_MS) this.sweep(now);
    const folder = join(this.#placeOf(session), VARIABLES);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return realOf(folder) ?? folder;
  }

  /** Notes the folder of the workspace in which the session's next run begins. */
  noteFolder(session: string, folder: string): void {
    this.open(session);
    writeJsonFile(this.#noteOf(session), { folder }, 'not durable');
  }

  /** Returns where the next command begins, if that is still a folder of the workspace. */
  folderOf(session: string, workspace: string): string | undefined {
    const noted = readJsonFile(this.#noteOf(session), noteSchema);
    const folder = noted.kind === 'read' ? noted.value.folder : workspace;
    return folder !== workspace && isInside(workspace, folder) && realOf(folder) === folder ? folder : undefined;
  }

  /** Forgets the variables and the folder of the session. */
  clear(session: string): void {
    removeShell(this.#placeOf(session));
  }

  #placeOf(session: string): string {
    return join(this.#root, createHash('sha256').update(session).digest('hex').slice(0, 32));
  }

  /** No command reaches it. */
  #noteOf(session: string): string {
    return join(this.#placeOf(session), 'folder.json');
  }
}

/**
 * A command may have left folders in it that this user cannot empty without root: the shell begins
 * anew all the same.
 */
function removeShell(place: string): void {
  try {
    rmSync(place, { recursive: true, force: true });
  } catch {
    const removed = join(dirname(place), `removed-${randomUUID()}`);
    if (existsSync(place)) renameSync(place, removed);
  }
}

/** The folder that the session's commands may write. */
const VARIABLES = 'variables';
const noteSchema = z.object({ folder: z.string() });

/** One command of a shell that is kept. */
export class KeptCommand {
  /** The arguments of bash: a script that keeps the state around the command, which comes last. */
  readonly args: readonly string[];
  /** The folder of the variables, which the command may write. Absent: it has none. */
  readonly folder: string | undefined;
  // A digit after \\0 would be part of a number.
  readonly #marker = `perdure-${randomUUID()}`;
  #endedIn: string | null = null;

  /** `bash` is the name that the shell calls itself by. */
  constructor(bash: string, command: string, folder?: string) {
    this.folder = folder;
    const variables = folder === undefined ? '' : keepVariables(folder);
    const report = `builtin printf '\\0${this.#marker}%s\\0' "$(builtin pwd -P 2>/dev/null || builtin printf %s "$PWD")" >&${REPORT_FD}`;
    const leave = `{ set +x; } 2>/dev/null; ${folder === undefined ? '' : '__perdure_save; '}${report}`;
    const script = `exec ${REPORT_FD}>&1; ${variables}trap ${quote(leave)} EXIT; ${RUN}`;
    this.args = ['-c', script, bash, command];
  }

  /** The shell's folder when it ended by itself; null when it didn't, or reported none. */
  get endedIn(): string | null {
    return this.#endedIn;
  }

  /** Passes output on, without the report of the folder. */
  reader(pass: (bytes: Uint8Array) => void): { add(bytes: Uint8Array): void; end(): void } {
    const opening = Buffer.from(`\0${this.#marker}`);
    let pending: Buffer = Buffer.alloc(0);
    return {
      add: (bytes) => {
        pending = Buffer.concat([pending, bytes]);
        const at = pending.indexOf(opening);
        const end = at < 0 ? -1 : pending.indexOf(0, at + opening.length);
        if (end >= 0) {
          this.#endedIn = pending.toString('utf8', at + opening.length, end);
          pending = Buffer.concat([pending.subarray(0, at), pending.subarray(end + 1)]);
        }
        const passed = startOf(pending, opening);
        if (passed > 0) pass(pending.subarray(0, passed));
        pending = pending.subarray(passed);
      },
      end: () => {
        if (pending.length > 0) pass(pending);
        pending = Buffer.alloc(0);
      },
    };
  }
}

/** Returns where a report may begin whose end has not come yet, else the length of the bytes. */
function startOf(bytes: Buffer, opening: Buffer): number {
  const whole = bytes.indexOf(opening);
  if (whole >= 0) return bytes.length - whole > opening.length + LONGEST_PATH ? bytes.length : whole;
  const last = bytes.lastIndexOf(0);
  return last >= 0 && opening.subarray(0, bytes.length - last).equals(bytes.subarray(last)) ? last : bytes.length;
}

/** Lines are counted from the command's own first one. */
const RUN = '__perdure_command=$1; shift; eval "$__perdure_command"';

/** A descriptor that commands are unlikely to use for redirections of their own. */
const REPORT_FD = 211;

/**
 * Names that each command gets anew: what marks its processes, holds git to safe repositories, and
 * makes the shell cut a text as it was cut to be judged.
 */
const OWN_NAMES = 'PERDURE_*|__perdure_*|TRACEPARENT|GIT_CONFIG_*|LC_ALL|PWD|SHLVL|_|SHELLOPTS|BASHOPTS|IFS';

/**
 * Bash that restores the variables of the folder's file and defines what saves them: pairs of
 * NAME=VALUE, and bare names of those that were removed, each ended by NUL. The file is data and
 * never run; it is replaced as a whole. Only what differs from the variables that the command was
 * given is kept. Bash before 4 keeps none.
 */
function keepVariables(folder: string): string {
  const [file, next] = ['exported', 'next'].map((name) => quote(join(folder, name)));
  return [
    '__perdure_save() { :; }',
    'if ((BASH_VERSINFO[0] > 3)); then declare -A __perdure_given=()',
    'for __perdure_name in $(compgen -e); do __perdure_given[$__perdure_name]=${!__perdure_name}; done',
    `if [[ -r ${file} ]]; then while IFS= read -r -d '' __perdure_pair; do __perdure_name=\${__perdure_pair%%=*}`,
    `[[ $__perdure_name =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]] || continue; case $__perdure_name in ${OWN_NAMES}) continue;; esac`,
    'if [[ $__perdure_pair == *=* ]]; then export "$__perdure_pair"; else unset -v "$__perdure_name"; fi',
    `done <${file}; fi 2>/dev/null`,
    `__perdure_save() { local IFS=$' \\t\\n' __perdure_name __perdure_names; __perdure_names=" $(compgen -e) "; __perdure_names=\${__perdure_names//$'\\n'/ }`,
    `{ for __perdure_name in $__perdure_names; do case $__perdure_name in ${OWN_NAMES}) continue;; esac`,
    '[[ -n ${__perdure_given[$__perdure_name]+x} && ${__perdure_given[$__perdure_name]} == "${!__perdure_name-}" ]] || builtin printf \'%s=%s\\0\' "$__perdure_name" "${!__perdure_name-}"; done',
    'for __perdure_name in "${!__perdure_given[@]}"; do [[ $__perdure_names == *" $__perdure_name "* ]] || builtin printf \'%s\\0\' "$__perdure_name"; done',
    `} 2>/dev/null >|${next} && command -p mv -f ${next} ${file} 2>/dev/null; }; fi; `,
  ].join('; ');
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
