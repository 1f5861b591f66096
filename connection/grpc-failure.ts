// Reads a failed call to a Temporal server, whether the SDK wrapped the failure or not.
import { isGrpcServiceError } from '@temporalio/client';
import { reasonOf } from '../system/text.ts';

/** The gRPC status codes that Perdure acts on. */
export const GRPC = {
  invalidArgument: 3,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unimplemented: 12,
  unauthenticated: 16,
} as const;

type GrpcFailure = {
  /** Undefined when the failure did not come from the server. */
  readonly code: number | undefined;
  /** The reason, on one line. */
  readonly why: string;
};

export function readGrpcFailure(error: unknown): GrpcFailure {
  const inner = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (isGrpcServiceError(inner))
    return { code: inner.code, why: inner.details.split('\n', 1)[0] || `code ${inner.code}` };
  return { code: undefined, why: reasonOf(inner) };
}
