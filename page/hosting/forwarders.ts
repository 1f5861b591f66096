// Names under which a forwarder of ports shows a page of this machine: loopback names, those that a
// cloud workspace has in its environment, and those that the user names. A name is never taken from
// a request, since any site can make a name lead here.
import type { Env } from '../../connection/data-folder.ts';
import { SetupProblem } from '../../system/setup-problem.ts';

/** A host name in which `PORT` stands for the page's port. */
export type Forwarder = string;

const LABEL = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?';
const NAME = new RegExp(`^${LABEL}(?:\\.${LABEL})+$`);

/** Reads the names of GitHub Codespaces, Gitpod and Google Cloud Shell from the environment. */
export function forwardersOf(env: Env): readonly Forwarder[] {
  const { CODESPACES: isCodespace, CODESPACE_NAME: codespace = '', GITPOD_WORKSPACE_URL: gitpod = '', WEB_HOST } = env;
  const domain = env['GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN'] ?? '';
  const names = [
    isCodespace === 'true' ? `${codespace}-PORT.${domain}` : '',
    `PORT-${/^https:\/\/([^/]+)\/?$/.exec(gitpod)?.[1] ?? ''}`,
    env['CLOUD_SHELL'] === 'true' ? `PORT-${WEB_HOST ?? ''}` : '',
  ];
  return names.filter((name) => NAME.test(nameAt(name, 1)));
}

/** Throws SetupProblem for a text that cannot be such a name. */
export function parseForwarder(text: string): Forwarder {
  if (NAME.test(nameAt(text, 1))) return text;
  throw new SetupProblem(
    `--page-forwarded is ${JSON.stringify(text.slice(0, 80))}: give the name alone under which the page is forwarded, in small letters, with PORT for the page's port, as in PORT-me.example`,
  );
}

export const nameAt = (forwarder: Forwarder, port: number): string => forwarder.replace('PORT', String(port));

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

export const isLoopbackName = (name: string): boolean => LOOPBACK.has(name);
