// Finds the certificates that connections trust: Node's (with NODE_EXTRA_CA_CERTS, which Node
// itself reads), and on request the system's.
import { existsSync, readFileSync } from 'node:fs';
import * as tls from 'node:tls';
import { SetupProblem } from '../../system/setup-problem.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** The files in which systems keep their certificates. */
const BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g;

/**
 * Returns undefined for Node's own. `NODE_USE_SYSTEM_CA=1` adds the system's, also on a Node that
 * does not know the variable, and `SSL_CERT_FILE` then names their file. Throws SetupProblem where
 * none are found.
 */
export function listTrustedCertificates(env: Env): readonly string[] | undefined {
  const extra = env['NODE_EXTRA_CA_CERTS']?.trim();
  const usesSystem = env['NODE_USE_SYSTEM_CA']?.trim() === '1';
  // Node has read the file that its own environment named when it started.
  const known = !extra || extra === process.env['NODE_EXTRA_CA_CERTS']?.trim();
  if (known && !usesSystem) return undefined;
  return [...tls.rootCertificates, ...readCertificates(extra), ...(usesSystem ? listSystemCertificates(env) : [])];
}

/**
 * Returns the end of a sentence when NODE_EXTRA_CA_CERTS names a file without readable
 * certificates, else undefined.
 */
export function extraCertificatesProblem(env: Env): string | undefined {
  const extra = env['NODE_EXTRA_CA_CERTS']?.trim();
  if (!extra || readCertificates(extra).length > 0) return undefined;
  return 'NODE_EXTRA_CA_CERTS names no file with certificates that can be read: they are not trusted';
}

function listSystemCertificates(env: Env): readonly string[] {
  const named = env['SSL_CERT_FILE']?.trim();
  if (!named && 'getCACertificates' in tls && typeof tls.getCACertificates === 'function') {
    return tls.getCACertificates('system') as readonly string[];
  }
  const file = [...(named ? [named] : []), ...BUNDLES].find((each) => existsSync(each));
  if (file === undefined || (named && file !== named))
    throw new SetupProblem(
      'NODE_USE_SYSTEM_CA asks for certificates that are not found: name their file in SSL_CERT_FILE, or leave it out',
    );
  return readCertificates(file);
}

/** Returns no certificates for a file that cannot be read: Node, too, goes on without. */
function readCertificates(file: string | undefined): readonly string[] {
  if (!file) return [];
  try {
    return readFileSync(file, 'latin1').match(CERTIFICATE) ?? [];
  } catch {
    return [];
  }
}
