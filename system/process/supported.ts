// The first import of every entry but the workflows': a Node or a Temporal SDK that is too old is
// named, before what it lacks is missed. It imports nothing that an old Node has not.
import { readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';

type Manifest = {
  readonly name?: string;
  readonly version: string;
  readonly engines?: { readonly node?: string };
  readonly peerDependencies?: Readonly<Record<string, string>>;
};

/** `commonAt`: the folder of the @temporalio/common that it uses. */
export type InstalledPeer = { readonly name: string; readonly version: string; readonly commonAt: string | null };

const COMMON = '@temporalio/common';

/** Why this Node cannot run it; undefined when it can. `wanted`: as in `engines`, `>=20.19`. */
export function nodeProblem(version: string, wanted: string): string | undefined {
  const [major = 0, minor = 0] = numbers(version);
  const [atLeast = 0, andMinor = 0] = numbers(wanted);
  if (major > atLeast || (major === atLeast && minor >= andMinor)) return undefined;
  return `it needs Node ${atLeast}.${andMinor} or newer, and this is Node ${version}: use a newer Node`;
}

/** `wanted`: a range like `^1.24.0` for each. Undefined when all will do. */
export function peersProblem(
  peers: readonly InstalledPeer[],
  wanted: Readonly<Record<string, string>>,
): string | undefined {
  for (const { name, version } of peers) {
    const range = wanted[name];
    if (range === undefined || fits(version, range)) continue;
    return `it needs ${name} ${range}, and ${version} is installed: npm install ${name}@${range}`;
  }
  const [first, ...others] = peers.filter(({ commonAt }) => commonAt !== null);
  const other = others.find(({ commonAt }) => commonAt !== first?.commonAt);
  if (first === undefined || other === undefined) return undefined;
  const places = `${first.name} uses ${first.commonAt}, ${other.name} ${other.commonAt}`;
  return `${COMMON} is there twice: ${places}; install all @temporalio packages in one version (\`npm ls ${COMMON}\`)`;
}

const numbers = (version: string): number[] => (version.match(/\d+/g) ?? []).map(Number);

function fits(version: string, range: string): boolean {
  const [major = 0, minor = 0, patch = 0] = numbers(version);
  const [wanted = 0, least = 0, andPatch = 0] = numbers(range);
  return major === wanted && (minor > least || (minor === least && patch >= andPatch));
}

function readManifest(path: string | URL): Manifest {
  return JSON.parse(readFileSync(path, 'utf8')) as Manifest;
}

/** Packages that are not there are named by Node itself, when they are imported. */
function installedPeers(names: readonly string[]): InstalledPeer[] {
  const own = createRequire(import.meta.url);
  return names.flatMap((name) => {
    const path = manifestPath(own, name);
    if (path === null) return [];
    const commonAt = name === COMMON ? path : manifestPath(createRequire(path), COMMON);
    return [{ name, version: readManifest(path).version, commonAt }];
  });
}

function manifestPath(from: NodeJS.Require, name: string): string | null {
  try {
    return realpathSync(from.resolve(`${name}/package.json`));
  } catch {
    return null;
  }
}

/** Null in a bundle, which has what it was made with. */
function ownManifest(): Manifest | null {
  const here = import.meta.url as string | undefined;
  try {
    const root = here?.endsWith('.ts') ? '../../package.json' : '../../../package.json';
    const found = readManifest(new URL(root, here));
    return found.name === 'perdure' ? found : null;
  } catch {
    return null;
  }
}

function refuseUnsupported(): void {
  const own = ownManifest();
  if (own === null) return;
  const { version, engines, peerDependencies = {} } = own;
  const peers = Object.keys(peerDependencies).filter((name) => name.startsWith('@temporalio/'));
  const problem =
    nodeProblem(process.versions.node, engines?.node ?? '>=0.0') ??
    peersProblem(installedPeers(peers), peerDependencies);
  if (problem !== undefined) throw new Error(`perdure ${version} cannot run here: ${problem}`);
}

refuseUnsupported();
