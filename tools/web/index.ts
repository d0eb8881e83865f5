import { serveTools } from 'edgecall/tool'
import { readPage, webSearch } from './tools.ts'

export default serveTools(webSearch, readPage)
