// One class of error for each code that the server's errors begin with.

/** The server refused something. `code` is the first word of its error, `detail` the rest. */
export class TupledError extends Error {
  readonly code: string;
  readonly detail: string;

  constructor(code: string, detail: string) {
    super(`${code} ${detail}`.trim());
    this.name = new.target.name;
    this.code = code;
    this.detail = detail;
  }
}

/** The command, a key, a value or an option is wrong; or it could not be done. */
export class CommandError extends TupledError {}
/** The stored value, or the operand, has a type that the command is not for. */
export class WrongTypeError extends TupledError {}
/** Something is larger, longer or more than a limit allows. */
export class LimitError extends TupledError {}
/** The result is a number that its type cannot hold; nothing was changed. */
export class NumberOverflowError extends TupledError {}
/** The sum would leave its range; nothing was changed. */
export class OutOfRangeError extends TupledError {}
/** A unique index has the value already: of `index`, at `key` (JSON). */
export class DuplicateError extends TupledError {
  get index(): string {
    return this.detail.split(" ", 1)[0] ?? "";
  }
  get key(): string {
    return this.detail.slice(this.index.length + 1);
  }
}
/** RESTORE without REPLACE: the key is there. */
export class BusyKeyError extends TupledError {}
/** What was stored cannot be read: the disk gave it back damaged. */
export class CorruptError extends TupledError {}
/** The index is still being filled. */
export class IndexingError extends TupledError {}
/** The database holds as much as its limits allow. */
export class QuotaError extends TupledError {}
/** There is no such database, or the selected one was dropped. */
export class NoDatabaseError extends TupledError {}
/** Of the database inside a program only: it has to be opened anew. */
export class BrokenError extends TupledError {}
/** The history asked for is no longer kept; it is from `oldest` on. */
export class StaleError extends TupledError {
  get oldest(): string {
    return this.detail.split(" ", 1)[0] ?? "";
  }
}
/** Nothing happened, and it may work next time. The helper has tried for `retryForMs`. */
export class TryAgainError extends TupledError {}
/** EXEC did nothing; which command was wrong, and its error, follow. */
export class ExecAbortError extends TupledError {}
/** CLIENT UNBLOCK ended the wait. */
export class UnblockedError extends TupledError {}
/** HELLO asked for a protocol that the server does not speak. */
export class NoProtoError extends TupledError {}
/** Protected mode: another machine, and no password. */
export class DeniedError extends TupledError {}
/** The connection must say AUTH first. */
export class NoAuthError extends TupledError {}
/** AUTH failed. */
export class WrongPassError extends TupledError {}
/** The user may not run the command, or not on this key, channel or database. */
export class NoPermissionError extends TupledError {}
/** EVALSHA: the server does not know a script of that SHA1; send it with EVAL. */
export class NoScriptError extends TupledError {}
/** SCRIPT KILL or FUNCTION KILL: no script runs that could be ended. */
export class NotBusyError extends TupledError {}
/** There is no such stream, or it has no such consumer group. */
export class NoGroupError extends TupledError {}
/** XGROUP CREATE: the stream has a group of that name. */
export class BusyGroupError extends TupledError {}
/** PFADD, PFCOUNT, PFMERGE: the value begins as a HyperLogLog, but is none. */
export class InvalidObjectError extends TupledError {}

export const ERRORS: Readonly<Record<string, new (code: string, detail: string) => TupledError>> = {
  ERR: CommandError,
  WRONGTYPE: WrongTypeError,
  LIMIT: LimitError,
  OVERFLOW: NumberOverflowError,
  RANGE: OutOfRangeError,
  DUPLICATE: DuplicateError,
  BUSYKEY: BusyKeyError,
  CORRUPT: CorruptError,
  INDEXING: IndexingError,
  QUOTA: QuotaError,
  NODB: NoDatabaseError,
  BROKEN: BrokenError,
  STALE: StaleError,
  TRYAGAIN: TryAgainError,
  EXECABORT: ExecAbortError,
  UNBLOCKED: UnblockedError,
  NOPROTO: NoProtoError,
  DENIED: DeniedError,
  NOAUTH: NoAuthError,
  WRONGPASS: WrongPassError,
  NOPERM: NoPermissionError,
  NOSCRIPT: NoScriptError,
  NOTBUSY: NotBusyError,
  NOGROUP: NoGroupError,
  BUSYGROUP: BusyGroupError,
  INVALIDOBJ: InvalidObjectError,
};

/** Of the text of an error reply. */
export function makeError(text: string): TupledError {
  const [code = ""] = text.split(" ", 1);
  const kind = ERRORS[code];
  if (kind !== undefined) return new kind(code, text.slice(code.length + 1));
  if (/^[A-Z][A-Z0-9]*$/.test(code)) return new TupledError(code, text.slice(code.length + 1));
  return new CommandError("ERR", text);
}

/** The server's error, of what a library has thrown; undefined: it is not one of the server's. Both
 *  libraries have a class for those: ReplyError, ErrorReply. */
export function typed(error: unknown): TupledError | undefined {
  if (error instanceof TupledError) return error;
  if (!(error instanceof Error)) return undefined;
  for (let at: unknown = error; at instanceof Error; at = Object.getPrototypeOf(at)) {
    if (at.name === "ReplyError" || at.constructor.name === "ReplyError" || at.constructor.name === "ErrorReply") {
      return makeError(error.message);
    }
  }
  const [code = ""] = error.message.split(" ", 1);
  return code in ERRORS ? makeError(error.message) : undefined;
}
