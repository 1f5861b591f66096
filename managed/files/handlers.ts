// Handlers of the routes for files and session resources.
import { createHash } from 'node:crypto';
import type { BetaDeletedFile, BetaFileMetadata } from '@anthropic-ai/sdk/resources/beta/files';
import type {
  BetaManagedAgentsDeleteSessionResource,
  BetaManagedAgentsSessionResource,
} from '@anthropic-ai/sdk/resources/beta/sessions/resources';
import { invalid, unsupported } from '../errors.ts';
import { pageOf, placeOf } from '../pages.ts';
import { type Handler, idIn, type ManagedRequest, type Paged, pageIn, type Parts, sessionIn } from '../request.ts';
import { reserveId } from '../request-log.ts';
import { pageQuery } from '../shapes/agents.ts';
import * as shapes from '../shapes/files.ts';
import { parseBody, parseQuery } from '../shapes/parse.ts';
import type { ServedName } from '../surface.ts';
import { readUpload, showFile } from './file-resources.ts';

const fileIn = (request: ManagedRequest): string => idIn(request, 'file_id', 'file', 'File', 'file_not_found');
const resourceIn = (request: ManagedRequest): string => idIn(request, 'resource_id', 'sesrsc', 'Resource');

export const fileHandlers = (parts: Parts) =>
  ({
    'files.upload': async (request) => {
      if (!(request.body instanceof FormData)) throw invalid('file: send multipart/form-data with a file', 'file');
      const upload = await readUpload(request.body);
      const { bytes, ...named } = upload;
      const content = createHash('sha256').update(bytes).digest('hex');
      const id = await reserveId(parts.ports, { ...request, body: { ...named, content } }, 'file');
      return parts.files.upload(id, request.person, upload);
    },
    'files.list': async (request): Promise<Paged<BetaFileMetadata>> => {
      const query = parseQuery(shapes.fileList, request.query);
      const { ids, scope_id: scope } = query;
      if (ids !== undefined && (query.page !== undefined || query.limit !== undefined))
        throw invalid('ids: it cannot be combined with page and limit', 'ids');
      const all = await parts.files.list({ scope, ids });
      if (ids !== undefined) return { data: all.map(showFile), next_page: null };
      const list = { list: 'files', order: 'desc', filter: { scope }, ...pageIn(query) } as const;
      const page = pageOf(await parts.cursors(), list, all, placeOf);
      return { data: page.items.map(showFile), next_page: page.next };
    },
    'files.retrieveMetadata': (request) => parts.files.retrieve(fileIn(request)),
    'files.download': async (request) => {
      const { filename, mimeType, bytes } = await parts.files.download(fileIn(request));
      const headers = {
        'Content-Type': mimeType,
        'Content-Length': String(bytes.length),
        'Content-Disposition': `attachment; filename*=UTF-8''${encodeURIComponent(filename)}`,
      };
      return new Response(new Uint8Array(bytes), { headers });
    },
    'files.delete': async (request): Promise<BetaDeletedFile> => {
      const id = fileIn(request);
      await parts.files.delete(id, request.person);
      return { id, type: 'file_deleted' };
    },
    'sessions.resources.list': async (request): Promise<Paged<BetaManagedAgentsSessionResource>> => {
      const query = parseQuery(pageQuery, request.query);
      const session = sessionIn(request);
      const { resources: stores = [] } = await parts.sessions.item(session);
      const all = [...(await parts.files.resources(session)), ...stores].map((resource, at) => ({ resource, at }));
      const list = { list: `resources ${session}`, order: 'asc', filter: null, ...pageIn(query) } as const;
      const page = pageOf(await parts.cursors(), list, all, ({ at }) => String(at).padStart(9, '0'));
      return { data: page.items.map(({ resource }) => resource), next_page: page.next };
    },
    'sessions.resources.retrieve': async (request) => {
      const session = sessionIn(request);
      const { resources: stores = [] } = await parts.sessions.item(session);
      // A memory store has no other id in the session.
      const store = stores.find(({ memory_store_id }) => memory_store_id === request.params['resource_id']);
      if (store) return store;
      return parts.files.resource(session, resourceIn(request));
    },
    'sessions.resources.add': async (request) => {
      const body = parseBody(shapes.resourceAdd, request.body);
      const session = sessionIn(request);
      await parts.sessions.requireFiles(session);
      const id = await reserveId(parts.ports, request, 'file');
      return parts.files.attach(session, id, request.person, body);
    },
    'sessions.resources.update': async (request) => {
      parseBody(shapes.resourceUpdate, request.body);
      const session = sessionIn(request);
      await parts.sessions.item(session);
      await parts.files.resource(session, resourceIn(request));
      throw unsupported('authorization_token', 'files have no token');
    },
    'sessions.resources.delete': async (request): Promise<BetaManagedAgentsDeleteSessionResource> => {
      const [session, id] = [sessionIn(request), resourceIn(request)];
      await parts.sessions.requireFiles(session);
      await parts.files.detach(session, id, request.person);
      return { id, type: 'session_resource_deleted' };
    },
  }) satisfies Partial<Record<ServedName, Handler>>;
