import { serveTools } from 'edgecall/tool'
import { calculate, squareRoot } from './tools.ts'

export default serveTools(calculate, squareRoot)
