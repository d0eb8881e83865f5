import type { Acceptances, StoredTools } from './catalogue.ts'
import type { StoredKeys } from './api-key.ts'
import type { BackupPorts } from './backup-ports.ts'
import type { BackupReply, BackupRequest } from './backup.ts'
import type { Config } from './config.ts'
import type { ConnectionService } from './connection.ts'
import type { ConversationService, Objects, Reply } from './conversation.ts'
import type { DirectoryService, RunDirectory } from './directory.ts'
import type { LoopSetup } from './hook.ts'
import type { Isolate } from './isolate.ts'
import type { ReportAddresses } from './later.ts'
import type { BinaryContent, LinkedContent } from './message.ts'
import type { ChatModel } from './model.ts'
import type { HoldingPolicy, PolicySubject, RateLimit } from './policy.ts'
import type { RunReporter } from './report.ts'
import type { ToolSelection } from './run.ts'
import type { ScheduleService } from './schedule.ts'
import type { SecretFilter } from './secrets.ts'
import type { Signer } from './signer.ts'
import type { Summaries } from './summaries.ts'
import type { Caller, ToolFinder, ToolSource } from './tool.ts'
import type { Webhooks } from './webhooks.ts'

/** Resolves model names. Without a name: the default model. */
export interface ModelChooser {
  resolve(
    name?: string,
  ):
    | { readonly ok: true; /** `provider/name`. */ readonly name: string; readonly model: ChatModel }
    | { readonly ok: false; readonly code: 'model_not_configured' | 'unknown_model'; readonly message: string }
  /** Returns the exact names of models, for listings. */
  list(): readonly string[]
}

/** Receives log entries for operators: plain objects, one per line, without secrets or content. */
export type Report = (entry: { readonly event: string } & Readonly<Record<string, unknown>>) => void

/** Copies conversations, makes them of copies, and takes them back in time. */
export type ConversationBackups = (request: BackupRequest, ports: BackupPorts) => Promise<Reply<BackupReply>>

/** What an edge works with, as `edge/setup.ts` puts it together from the env and the parts of the edge. */
export interface Setup {
  readonly config: Config
  /** What this isolate remembers from one request to the next. */
  readonly isolate: Isolate
  readonly models: ModelChooser
  /** Returns the tools that a caller may know of. */
  readonly tools: (caller: Caller) => ToolSource
  /** Returns those that are not stored, also those that models are not offered (`isFor`). Default: there are none. */
  readonly workerTools?: ((caller: Caller) => ToolSource) | undefined
  /**
   * Binds a source by the rules of the edge, its policies among them, as the tools of the edge are bound. Default: nothing
   * binds it.
   */
  readonly bindTools?: ((source: ToolSource) => (caller: Caller) => ToolSource) | undefined
  /** Returns the policies that hold for a tool, in their order. Default: there are none. */
  readonly policies?: ((tool: PolicySubject) => readonly HoldingPolicy[]) | undefined
  /** Finds tools by words, for `GET /tools?query=`. Default: tools cannot be searched. */
  readonly finder?: ((caller: Caller) => ToolFinder) | undefined
  /** Returns the stored definitions of the edge or of the caller's tenant, to be read and written as the caller may. */
  readonly stored: (owner: 'edge' | 'tenant', caller: Caller) => StoredTools
  /** Records which definitions of tools are accepted; others are held back. Default: none are held back. */
  readonly acceptances?: Acceptances | undefined
  /** Keeps the access to other servers. Default: there are none. */
  readonly connections?: ConnectionService | undefined
  readonly conversations: Objects<ConversationService>
  readonly directories: Objects<DirectoryService>
  readonly report: Report
  /** The id of the deployed version, where the edge binds its version metadata. */
  readonly deployment?: string | undefined
  /** Removes the edge's secrets from what is stored for operators. Default: there are none. */
  readonly secrets?: SecretFilter | undefined
  /** The rate limits that API keys name. A key whose rate limit is missing here is refused. */
  readonly rates?: Readonly<Record<string, RateLimit>> | undefined
  /** Lets people sign in at the edge itself. Default: nobody can. */
  readonly signIn?: SignIn | undefined
  /** Reads the tokens of people who have signed in. Default: callers have API keys alone. */
  readonly identityTokens?: ReadToken | undefined
  /** Default: no key is ever disabled, and no use recorded. */
  readonly keyStates?: KeyStates | undefined
  /** API keys that operators make and change without a deployment. Default: keys are those of `API_KEYS`. */
  readonly storedKeys?: StoredKeys | undefined
  /** Fetches files that messages link to. Default: such links are refused. */
  readonly fetchFiles?: FetchFiles | undefined
  /** Notifies URLs of runs. Default: no conversation can have a webhook. */
  readonly webhooks?: Webhooks | undefined
  /** Makes notes on the messages that leave a conversation's window. Default: models do not see those messages. */
  readonly summaries?: Summaries | undefined
  /** Copies and takes back conversations. Default: that cannot be done. */
  readonly backups?: ConversationBackups | undefined
  /** Signs copies of conversations. Default: each copy counts as written by the caller who brings it. */
  readonly copySigner?: Signer | undefined
  /** Signs the questions that MCP clients pass on to people. Default: those clients cannot be asked. */
  readonly questionSigner?: Signer | undefined
  /** Signs what people are sent who decide about calls. Default: nobody is asked. */
  readonly approvalSigner?: Signer | undefined
  /** Makes the addresses to which tools report outcomes that come later. Default: those can only be polled. */
  readonly reportAddresses?: ReportAddresses | undefined
  /** Hooks, and replacements for parts of the loop. Default: none. */
  readonly loop?: LoopSetup | undefined
  /** Receive each run that has ended. Default: none. */
  readonly reporters?: readonly RunReporter[] | undefined
  /** List and count runs, for metrics and usage by day. Default: none are listed or counted. */
  readonly runDirectories?: Objects<RunDirectory> | undefined
  /** The env, for the functions of triggers. Default: there are none. */
  readonly triggerEnv?: Readonly<Record<string, unknown>> | undefined
  /** Keep the schedules of tenants. Default: no run can be scheduled. */
  readonly schedules?: Objects<ScheduleService> | undefined
  /** Whether spans are made of runs, which then begin a trace unless their callers name one. Default: no. */
  readonly hasSpans?: boolean | undefined
  /** Selects tools by model, for requests that name none. Default: the configured default set, for all models. */
  readonly toolsOf?: ((model: string) => ToolSelection | undefined) | undefined
  /** Returns the trusted context of a caller, such as the plan of its tenant. Tools get it; no request can set it. */
  readonly trusted?: ((caller: Caller) => Readonly<Record<string, unknown>>) | undefined
}

/**
 * Returns the caller that the token of a request names, which is in `bearer` or another header; undefined if the request
 * has none. A token for the URL of the path `resource` is accepted too. Throws a Problem for a token that is not valid.
 */
export type ReadToken = (
  request: Request,
  bearer: string | undefined,
  setup: Pick<Setup, 'config' | 'isolate' | 'report' | 'signIn' | 'storedKeys' | 'keyStates'>,
  resource?: string,
) => Promise<Caller | undefined>

/** What an edge needs to be an authorization server. */
export interface SignIn {
  /** The KV namespace with its clients, grants and tokens. */
  readonly grants: KVNamespace
  /** The scopes that people may grant, in the order in which they are asked. */
  readonly scopes: readonly string[]
}

/** Fetches files. Throws a Problem for one that may not be fetched, cannot be, or is not what it should be. */
export type FetchFiles = (
  links: readonly LinkedContent[],
  config: Pick<Config, 'fileHosts' | 'maxBodyBytes'>,
) => Promise<ReadonlyMap<LinkedContent, BinaryContent>>

/** The states of API keys and of identity providers' callers, by their ids, which change without a deployment. */
export interface KeyStates {
  isDisabled(id: string): Promise<boolean>
  /** Records that a key is used. Never rejects. */
  used(id: string): Promise<void>
}

export type MakeSetup<Env> = (env: Env) => Setup

const setupCache = new WeakMap<object, WeakMap<object, Setup>>()

/** Returns the setup of an env, made once per isolate: Worker and objects share its caches, such as a search index. */
export function setupOf<Env extends object>(makeSetup: MakeSetup<Env>, env: Env): Setup {
  const setups = setupCache.get(makeSetup) ?? new WeakMap<object, Setup>()
  setupCache.set(makeSetup, setups)
  const setup = setups.get(env) ?? makeSetup(env)
  setups.set(env, setup)
  return setup
}
