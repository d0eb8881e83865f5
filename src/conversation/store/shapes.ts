import type { UnfinishedRestore } from '../../contract/backup-ports.ts'
import type { ContextReduction, TokenCount } from '../../contract/context.ts'
import type { ConversationSettings } from '../../contract/conversation.ts'
import { isObject } from '../../contract/json.ts'
import type { Content, Message, PartRefusal } from '../../contract/message.ts'
import type { StoredFault } from '../../contract/thrown.ts'
import type { RunRecord, RunRequest } from '../../contract/run.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'

/**
 * The shapes of values that are stored as JSON. A value of another shape is set aside, like a text that is not JSON: it
 * may be damaged, and must not reach a model, a caller or the loop.
 */

export function isMessage(value: unknown): value is Message {
  if (!isObject(value)) return false
  const { role, content, calls, callId, tool, ok, marks } = value
  if (role === 'system') return isText(content)
  if (role === 'user') return (isText(content) || isList(content, isUserPart)) && isAbsentOr(marks, isTexts)
  if (role === 'assistant') return isText(content) && isAbsentOr(calls, (list) => isList(list, isCall))
  return (
    role === 'tool' &&
    isText(callId) &&
    isText(tool) &&
    isBoolean(ok) &&
    isContent(content) &&
    isAbsentOr(marks, isTexts)
  )
}

export function isStoredFault(value: unknown): value is StoredFault {
  return isObject(value) && isText(value.code) && typeof value.at === 'number' && isAbsentOr(value.detail, isText)
}

export function isReduction(value: unknown): value is ContextReduction {
  if (!isObject(value)) return false
  const { from, turn, notes, summary, results, files, characters, model, contextTokens, tools } = value
  return (
    isAbsentOr(tools, isTexts) &&
    [from, results, files].every(isNumber) &&
    isText(model) &&
    [turn, characters, contextTokens].every((each) => isAbsentOr(each, isNumber)) &&
    [notes, summary].every((each) => isAbsentOr(each, isText))
  )
}

export function isPartRefusal(value: unknown): value is PartRefusal {
  if (!isObject(value)) return false
  const { position, part, size, model, reason } = value
  return [position, size].every(isNumber) && (isNumber(part) || part === 'opaque') && [model, reason].every(isText)
}

export function isTokenCount(value: unknown): value is TokenCount {
  if (!isObject(value)) return false
  const { factor, growth, fileTokens, firstFiles, last, contextTokens } = value
  return (
    [factor, growth, fileTokens, contextTokens].every((each) => isAbsentOr(each, isNumber)) &&
    [firstFiles, last].every((each) =>
      isAbsentOr(each, (prompt) => isObject(prompt) && [prompt.text, prompt.files, prompt.counted].every(isNumber)),
    )
  )
}

export function isContent(value: unknown): value is Content[] {
  return isList(value, isPart)
}

function isPart(part: unknown): boolean {
  return isObject(part) && isText(part.type === 'text' ? part.text : part.data) && isText(part.type)
}

/** A part of a user's message may be a link to a file. */
function isUserPart(part: unknown): boolean {
  return isPart(part) || (isObject(part) && [part.type, part.mediaType, part.url].every(isText))
}

export function isRequest(value: unknown): value is RunRequest {
  if (!isObject(value)) return false
  const { runId, model, caller, input, clientTools, context, limits, system, conversation, agent } = value
  return (
    [runId, model].every(isText) &&
    [system, conversation].every((text) => isAbsentOr(text, isText)) &&
    isObject(caller) &&
    isText(caller.tenant) &&
    isList(input, isMessage) &&
    isList(clientTools, (each) => isObject(each) && isText(each.name) && isObject(each.inputSchema)) &&
    isObject(context) &&
    isObject(limits) &&
    Object.values(limits).every((limit) => isNumber(limit) || isObject(limit)) &&
    isNumber(limits.runMs) &&
    isAbsentOr(agent, isAgentTerms)
  )
}

function isAgentTerms(value: unknown): boolean {
  if (!isObject(value) || !isNumber(value.until) || !isAbsentOr(value.marks, isTexts)) return false
  const isCall = (call: unknown) => isObject(call) && [call.run, call.call, call.agent].every(isText)
  return isList(value.path, isCall) && isAbsentOr(value.conversation, isText)
}

export function isTools(value: unknown): value is ToolDefinition[] {
  return isList(
    value,
    (each) =>
      isObject(each) &&
      [each.name, each.description, each.hash].every(isText) &&
      [each.inputSchema, each.annotations].every(isObject),
  )
}

export function isRecord(value: unknown): value is RunRecord {
  if (!isObject(value)) return false
  const { id, status, answer, calls, steps } = value
  const isCallRecord = (call: unknown) => isObject(call) && isText(call.id) && isText(call.tool) && isText(call.status)
  return [id, status, answer].every(isText) && isNumber(steps) && isUsage(value.usage) && isList(calls, isCallRecord)
}

export function isUsage(value: unknown): boolean {
  return isObject(value) && [value.inputTokens, value.outputTokens].every(isNumber)
}

/** Returns the settings without those of another type, which count as not set. */
export function readableSettings(value: unknown): ConversationSettings {
  if (!isObject(value)) return {}
  return Object.fromEntries(Object.entries(value).filter(([name, setting]) => (SETTINGS[name] ?? isAny)(setting)))
}

const SETTINGS: Readonly<Record<string, (value: unknown) => boolean>> = {
  system: isText,
  model: isText,
  webhook: isText,
  compat: isText,
  ttlSeconds: isNumber,
  context: isObject,
  limits: isObject,
  window: (value) => isObject(value) && isAbsentOr(value.messages, isNumber) && isAbsentOr(value.tokens, isNumber),
}

function isCall(value: unknown): boolean {
  return isObject(value) && [value.callId, value.tool, value.arguments].every(isText)
}

function isList<Item>(value: unknown, isItem: (item: unknown) => boolean): value is Item[] {
  return Array.isArray(value) && value.every(isItem)
}

function isAbsentOr(value: unknown, isShape: (value: unknown) => boolean): boolean {
  return value === undefined || isShape(value)
}

function isAny(): boolean {
  return true
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isTexts(value: unknown): boolean {
  return isList(value, isText)
}

function isBoolean(value: unknown): boolean {
  return typeof value === 'boolean'
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && value >= 0
}

export function isUnfinishedRestore(value: unknown): value is UnfinishedRestore {
  if (!isObject(value)) return false
  const { part, first, last, texts, until } = value
  return isNumber(part) && isText(first) && isText(last) && Array.isArray(texts) && isNumber(until)
}
