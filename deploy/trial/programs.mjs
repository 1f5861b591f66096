// What runs in place of each image: the same program from this machine. Two are stand-ins, and said
// to be: Temporal's dev server, with its own database, for its server on Postgres; and, unless a
// root of the real image is given, this checkout with this machine's Node for the image of the
// Dockerfile.
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { parse } from 'yaml';

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const TOOLS = '/opt/programs';

/**
 * @typedef {{ argv: readonly string[], image: string | null, cwd: string, user: string, env: Record<string, string>,
 *   mounts: readonly { from: string, to: string, isReadOnly: boolean }[], notice?: string }} Program
 */

/**
 * @param {import('./read-compose.mjs').Service} service
 * @param {{ repository: string, dockerfile: ReturnType<typeof import('./read-compose.mjs').readDockerfile>, temporal: string,
 *   versitygw: string, imageRoot: string | null }} here
 * @returns {Program | null} null where this machine lacks the program, and nothing of the trial needs it
 */
export function programOf(service, here) {
  if (service.isBuilt) return builtProgram(service, here);
  const [name] = service.image.split(':');
  if (name === 'postgres') return postgresProgram();
  if (name === 'temporalio/auto-setup') return temporalProgram(service, here);
  if (name === 'versity/versitygw') return toolProgram('versitygw', here.versitygw, service.command);
  if (name === 'redis') return plain(service.command);
  throw new Error(`${service.name}: what runs in place of the image ${service.image}?`);
}

function builtProgram(service, { repository, dockerfile, imageRoot }) {
  const entrypoint = service.entrypoint ?? dockerfile.entrypoint;
  const command = service.command ?? dockerfile.command;
  const files = dockerfile.copied.flatMap(({ from, to }) =>
    from.map((path) => ({ from: join(repository, path), to: join(to, path.split('/').at(-1)), isReadOnly: true })),
  );
  const checkout = [
    { from: repository, to: '/opt/perdure/node_modules/perdure', isReadOnly: true },
    { from: process.execPath, to: `${TOOLS}/node`, isReadOnly: true },
    { from: join(repository, 'bin', 'perdure.mjs'), to: `${TOOLS}/perdure`, isReadOnly: true },
    ...files,
  ];
  return {
    argv: [...(imageRoot === null ? withoutMissing(entrypoint) : entrypoint), ...command],
    image: imageRoot,
    cwd: dockerfile.folder,
    user: service.user ?? dockerfile.user,
    env: { ...dockerfile.env, HOME: '/home/perdure', PATH: imageRoot === null ? `${TOOLS}:${PATH}` : PATH },
    mounts: imageRoot === null ? checkout : [],
  };
}

/** `tini` is no program that every machine has. Without an image, `perdure` is called by its path. */
function withoutMissing(entrypoint) {
  const start = existsSync(entrypoint[0]) ? entrypoint : entrypoint.slice(entrypoint.indexOf('--') + 1);
  const own = ['node', '/opt/perdure/node_modules/perdure/bin/perdure.mjs'];
  return start.flatMap((word) => (word === 'perdure' ? own : [word]));
}

function postgresProgram() {
  const initdb = find('initdb', ['/usr/lib/postgresql/17/bin', '/usr/lib/postgresql/15/bin']);
  if (initdb === null) return null;
  const data = '/var/lib/postgresql/data';
  const initialize = `[ -e ${data}/PG_VERSION ] || ${initdb} -U "$POSTGRES_USER" -A trust -D ${data} >/dev/null`;
  const served = `exec ${join(initdb, '..', 'postgres')} -D ${data} -k /var/run/postgresql -h 0.0.0.0`;
  // Debian's client looks for the socket there, as that of the image does.
  const script = `mkdir -p /var/run/postgresql && chown -R 10001 /var/run/postgresql ${data}; chmod 700 ${data}; exec setpriv --reuid 10001 sh -ec '${initialize}; ${served}'`;
  return { ...plain(['sh', '-ec', script]), notice: 'started for its health check alone' };
}

function temporalProgram(service, here) {
  const { from = '' } = service.mounts.find(({ to }) => to === service.env['DYNAMIC_CONFIG_FILE_PATH']) ?? {};
  const settings = Object.entries(parse(readFileSync(from, 'utf8')));
  const flags = settings.flatMap(([name, [{ value }]]) => [
    '--dynamic-config-value',
    `${name}=${JSON.stringify(value)}`,
  ]);
  const command = ['server', 'start-dev', '--headless', '--ip', '0.0.0.0', '--db-filename', '/tmp/temporal.db'];
  return {
    ...toolProgram('temporal', here.temporal, [...command, '--log-level', 'error', ...flags]),
    notice: 'the dev server of the CLI stands in for the image',
  };
}

function toolProgram(name, from, args) {
  const program = plain([name, ...args]);
  return { ...program, mounts: [{ from, to: `${TOOLS}/${name}`, isReadOnly: true }] };
}

function plain(argv) {
  return { argv, image: null, cwd: '/', user: '0:0', env: { PATH: `${TOOLS}:${PATH}`, HOME: '/tmp' }, mounts: [] };
}

function find(name, more) {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...more];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
}
