// Keeps rules for calls that a person no longer wants to be asked about while a terminal follows a
// session. They look like those of --allow and are proposed from the call in question. They exist
// only here: a run keeps the rules it was opened with (L57).
import { isAbsolute } from 'node:path';
import { parseShell } from '../../tools/builtin/shell/parse-shell.ts';
import { toHost } from '../../tools/builtin/web/addresses.ts';
import { isAllowedByRules } from '../../tools/rules/match-rules.ts';
import { isRunner } from '../../tools/rules/runners.ts';
import type { ShellWord } from '../../tools/shell-command.ts';
import type { RuleSubject } from '../../tools/tool.ts';
import { parseRule, permissionsProblem } from '../../workflows/contract/permission-rules.ts';
import type { WaitingApproval } from './waiting-approval.ts';

type Call = Pick<WaitingApproval, 'tool' | 'input' | 'question'> & { readonly problem?: string };

export type AlwaysRules = {
  add(rule: string): void;
  /** Sets the workspace of the run, which relative paths start from. */
  in(cwd: string): void;
  /**
   * Returns one of the rules that together cover the call; null when they do not. An input that is
   * not certain and a question are never covered.
   */
  ruleThatCovers(call: Call): string | null;
  /** Tells whether a rule certainly does not cover the call for which the person gave it. */
  misses(rule: string, call: Call): boolean;
};

export function createAlwaysRules(): AlwaysRules {
  const rules: string[] = [];
  let workspace: string | null = null;
  const isCovered = (list: readonly string[], { tool, input }: Call): boolean => {
    const subject = (): RuleSubject | undefined => subjectOf({ tool, input }, workspace !== null);
    return isAllowedByRules(list, { tool: { name: tool }, cwd: workspace ?? '/', subject });
  };
  return {
    add: (rule) => void rules.push(rule),
    in: (cwd) => {
      workspace = cwd;
    },
    ruleThatCovers: (call) => {
      if (call.problem !== undefined || call.question || !isCovered(rules, call)) return null;
      return rules.find((rule) => isCovered([rule], call)) ?? rules.join(', ');
    },
    misses: (rule, call) => {
      const isOfPath = call.tool === 'edit' || call.tool === 'write';
      if (call.problem !== undefined || (isOfPath && workspace === null)) return parseRule(rule)?.tool !== call.tool;
      return !isCovered([rule], call);
    },
  };
}

/**
 * Proposes a rule as narrow as may be of use: a command word by word, a file by its path, a foreign
 * tool by its name. Null when a rule cannot be proposed.
 */
export function ruleFor({ tool, input }: Call): string | null {
  const { command, path, url } = fieldsOf(input);
  if (tool === 'web_fetch') return hostRule(url);
  if (tool === 'bash') return typeof command === 'string' ? commandRule(command) : null;
  if (tool !== 'edit' && tool !== 'write') return permissionsProblem({ allow: [tool] }) === undefined ? tool : null;
  if (typeof path !== 'string' || !/^[\w./ -]+$/.test(path)) return null;
  return `${tool}(${isAbsolute(path) ? '/' : ''}${path})`;
}

/**
 * Proposes up to three rules, from the narrow one of `ruleFor` to every call of the tool. Each
 * covers the call.
 */
export function rulesFor(call: Call): readonly string[] {
  const narrow = ruleFor(call);
  const wider = [...widerRules(call), call.tool].filter((rule) => permissionsProblem({ allow: [rule] }) === undefined);
  const all = [...new Set([...(narrow === null ? [] : [narrow]), ...wider])];
  return all.length <= 3 ? all : [...all.slice(0, 2), ...all.slice(-1)];
}

/** Returns the folder of a file, the first words of a command, the domain of a host. */
function widerRules({ tool, input }: Call): readonly string[] {
  const { command, path, url } = fieldsOf(input);
  if ((tool === 'edit' || tool === 'write') && typeof path === 'string' && /^[\w./ -]+$/.test(path)) {
    const folder = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
    return folder === '' ? [] : [`${tool}(${isAbsolute(path) ? '/' : ''}${folder}/**)`];
  }
  if (tool === 'bash' && typeof command === 'string') {
    const [only, ...others] = parseShell(command) ?? [];
    if (!only || others.length > 0 || only.redirects.length > 0 || !isPlain(only.words)) return [];
    return [`bash(${only.words[0]?.text} ${only.words[1]?.text}:*)`];
  }
  if (tool === 'web_fetch' && typeof url === 'string' && URL.canParse(url)) {
    const [, ...domain] = toHost(new URL(url)).toLowerCase().split('.');
    return isOfOneOwner(domain) ? [`web_fetch(*.${domain.join('.')})`] : [];
  }
  const [, server] = /^mcp__(.+?)__/.exec(tool) ?? [];
  return server === undefined ? [] : [`mcp__${server}__*`];
}

/** Domains below which each name may be somebody else's. */
const HOSTING = new Set(
  (
    'amazonaws.com appspot.com azureedge.net azurefd.net azurestaticapps.net azurewebsites.net bitbucket.io blogspot.com cloudapp.net cloudfront.net ' +
    'codeberg.page deno.dev digitaloceanspaces.com duckdns.org firebaseapp.com fly.dev gitbook.io github.dev github.io githubusercontent.com gitlab.io ' +
    'glitch.me googleapis.com googleusercontent.com hashnode.dev herokuapp.com hf.space loca.lt myshopify.com netlify.app ngrok-free.app ngrok.app ngrok.io ' +
    'nip.io onrender.com pages.dev r2.dev railway.app readthedocs.io repl.co replit.app run.app sslip.io sourceforge.io square.site substack.com supabase.co ' +
    'surge.sh trycloudflare.com tumblr.com vercel.app web.app webflow.io weebly.com windows.net wixsite.com wordpress.com workers.dev'
  ).split(' '),
);

/**
 * Tells whether all names below a domain belong to one owner, as far as that can be told: in doubt,
 * as with `co.uk`, they do not.
 */
function isOfOneOwner(domain: readonly string[]): boolean {
  const [second = '', top = ''] = domain.slice(-2);
  if (domain.length < 2 || !/[a-z]/.test(top)) return false;
  const isSuffix = domain.length === 2 && top.length === 2 && (second.length <= 3 || GENERIC.has(second));
  return !isSuffix && !HOSTING.has(`${second}.${top}`);
}

/** Words of four letters and more under which countries register names. */
const GENERIC = new Set('asso conf govt info mobi muni name police school'.split(' '));

function hostRule(url: unknown): string | null {
  if (typeof url !== 'string' || !URL.canParse(url)) return null;
  const rule = `web_fetch(${toHost(new URL(url))})`;
  return permissionsProblem({ allow: [rule] }) === undefined ? rule : null;
}

/**
 * Programs that run their arguments, or a file that the agent may write: a rule with a pattern
 * after one would allow anything.
 */
const RUN_ARGUMENTS = new Set(
  (
    'ansible awk bun bunx bpython cargo cmake crontab csh dc deno docker ed elixir emacs erl ex expect gawk gdb ghci git-annex go gradle groovy ipython ' +
    'irb java jq julia just kubectl less lldb lxc m4 make man mawk meson more mvn mysql nawk ninja nix node npm nu nvim open openssl osascript pdm perl ' +
    'php pip pipx pnpm pnpx podman poetry powershell psql pwsh python rake rg rscript rsync ruby scala scp screen sed socat sqlite3 swift tar task tcl tclsh ' +
    'tcsh tmux ts-node tsx uv uvx vi view vim wish yarn zip'
  ).split(' '),
);
/** Subcommands of git that run programs named by an argument or a configuration. */
const GIT_RUNS = new Set(
  'bisect clone config difftool filter-branch for-each-repo grep mergetool rebase submodule'.split(' '),
);

/** Tells whether the first two words determine what the command does, whatever follows them. */
function isPlain(words: readonly ShellWord[]): boolean {
  const [{ text: path } = { text: '' }, { text: second } = { text: '' }] = words;
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  // The program is behind an assignment, and the first two words do not say what it does.
  if (/^\w+\+?=/.test(path)) return false;
  if (isRunner(words) || RUN_ARGUMENTS.has(name) || RUN_ARGUMENTS.has(name.replace(/(?<![-\d.])[-\d.]+$/, '')))
    return false;
  return /^\w/.test(second) && !second.includes('=') && !(name === 'git' && GIT_RUNS.has(second));
}

/**
 * Makes a rule for one command. If it cannot be written word by word, the rule names the first two
 * words where these determine the effect. Several commands at once get no rule.
 */
function commandRule(command: string): string | null {
  const [only, ...others] = parseShell(command) ?? [];
  if (!only || others.length > 0 || only.redirects.length > 0) return null;
  const special = only.words.findIndex(({ text, literal }) => !literal || !/^[^\s()"'\\*]+$/.test(text));
  const words = only.words.slice(0, special < 0 ? undefined : Math.min(special, 2)).map(({ text }) => text);
  if (special >= 0 && (words.length < 2 || !isPlain(only.words))) return null;
  const rule = `bash(${words.join(' ')}${special < 0 ? '' : ':*'})`;
  return permissionsProblem({ allow: [rule] }) === undefined ? rule : null;
}

/**
 * Returns undefined for a tool whose subject is unknown here: only a rule with its bare name covers
 * it.
 */
function subjectOf({ tool, input }: Call, knowsPlace: boolean): RuleSubject | undefined {
  const { command, path, url } = fieldsOf(input);
  if (tool === 'web_fetch' && typeof url === 'string' && URL.canParse(url))
    return { kind: 'name', name: toHost(new URL(url)) };
  if (tool === 'bash' && typeof command === 'string')
    return { kind: 'command', text: command, commands: parseShell(command), readsOnly: () => false };
  if (knowsPlace && (tool === 'edit' || tool === 'write') && typeof path === 'string') return { kind: 'path', path };
  return undefined;
}

function fieldsOf(input: unknown): Readonly<Record<string, unknown>> {
  return (typeof input === 'object' && input !== null ? input : {}) as Readonly<Record<string, unknown>>;
}
