// The handlers of vaults and their credentials (G65).
import type {
  BetaManagedAgentsCredential,
  BetaManagedAgentsCredentialValidation,
  BetaManagedAgentsDeletedCredential,
  BetaManagedAgentsDeletedVault,
  BetaManagedAgentsVault,
} from '@anthropic-ai/sdk/resources/beta/vaults';
import type { CredentialName } from '../../client/faces/types.ts';
import { formatTime } from '../ids.ts';
import { type ListRequest, pageOf, placeOfDated } from '../pages.ts';
import { filterOf, type Handler, idIn, type ManagedRequest, type Paged, pageIn, type Parts } from '../request.ts';
import { reserveId } from '../request-log.ts';
import { listQuery } from '../shapes/agents.ts';
import { parseBody, parseQuery } from '../shapes/parse.ts';
import * as shapes from '../shapes/vaults.ts';
import type { ServedName } from '../surface.ts';

const vaultIn = (request: ManagedRequest): string => idIn(request, 'vault_id', 'vlt', 'Vault');
const credentialIn = (request: ManagedRequest): CredentialName => ({
  vault: vaultIn(request),
  id: idIn(request, 'credential_id', 'vcrd', 'Credential'),
});

export function vaultHandlers(parts: Parts) {
  const { vaults } = parts;
  return {
    ...credentialHandlers(parts),
    'vaults.create': async (request) => {
      const body = parseBody(shapes.vaultCreate, request.body);
      return vaults.create(await reserveId(parts.ports, request, 'vlt'), request.person, body);
    },
    'vaults.retrieve': (request) => vaults.retrieve(vaultIn(request)),
    'vaults.update': (request) =>
      vaults.update(vaultIn(request), request.person, parseBody(shapes.vaultUpdate, request.body)),
    'vaults.archive': (request) => vaults.archive(vaultIn(request), request.person),
    'vaults.delete': async (request): Promise<BetaManagedAgentsDeletedVault> => {
      const id = vaultIn(request);
      await vaults.delete(id, request.person);
      return { id, type: 'vault_deleted' };
    },
    'vaults.list': (request): Promise<Paged<BetaManagedAgentsVault>> =>
      listPage(parts, request, 'vaults', (includeArchived) => vaults.list(includeArchived)),
  } satisfies Partial<Record<ServedName, Handler>>;
}

function credentialHandlers(parts: Parts) {
  const { vaults, ports } = parts;
  return {
    'vaults.credentials.create': async (request) => {
      const vault = vaultIn(request);
      const body = parseBody(shapes.credentialCreate, request.body);
      await vaults.requireOpen(vault);
      const id = await reserveId(ports, { ...request, body: vaults.fingerprint(request.body) }, 'vcrd');
      return vaults.createCredential({ vault, id }, request.person, body);
    },
    'vaults.credentials.retrieve': (request) => vaults.retrieveCredential(credentialIn(request)),
    'vaults.credentials.update': (request) => {
      const body = parseBody(shapes.credentialUpdate, request.body);
      return vaults.updateCredential(credentialIn(request), request.person, body);
    },
    'vaults.credentials.archive': (request) => vaults.archiveCredential(credentialIn(request), request.person),
    'vaults.credentials.delete': async (request): Promise<BetaManagedAgentsDeletedCredential> => {
      const name = credentialIn(request);
      await vaults.deleteCredential(name, request.person);
      return { id: name.id, type: 'vault_credential_deleted' };
    },
    'vaults.credentials.list': (request): Promise<Paged<BetaManagedAgentsCredential>> => {
      const vault = vaultIn(request);
      return listPage(parts, request, `credentials ${vault}`, (all) => vaults.listCredentials(vault, all));
    },
    'vaults.credentials.mcpOAuthValidate': async (request): Promise<BetaManagedAgentsCredentialValidation> => {
      const name = credentialIn(request);
      const checked = await vaults.checkCredential(name);
      const validated_at = formatTime(ports.now());
      return {
        type: 'vault_credential_validation',
        credential_id: name.id,
        vault_id: name.vault,
        ...checked,
        validated_at,
      };
    },
  } satisfies Partial<Record<ServedName, Handler>>;
}

type Listed = { readonly id: string; readonly created_at: string };

async function listPage<Item extends Listed>(
  parts: Parts,
  request: ManagedRequest,
  name: string,
  listAll: (includeArchived: boolean) => Promise<readonly Item[]>,
): Promise<Paged<Item>> {
  const query = parseQuery(listQuery, request.query);
  const list: ListRequest = { list: name, order: 'desc', filter: filterOf(query), ...pageIn(query) };
  const page = pageOf(await parts.cursors(), list, await listAll(query.include_archived === true), placeOfDated);
  return { data: page.items, next_page: page.next };
}
