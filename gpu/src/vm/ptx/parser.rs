//! The recursive-descent half: directives, functions and statements. It never recurses, so nesting cannot exhaust the stack.

use super::ast::{Function, Instruction, Module, Space, Type, Variable};
use super::lexer::{TextError, Token, tokenize};
use std::collections::{HashMap, HashSet};

/// Limit on instructions of one module, which bounds what a hostile text can make the decoder allocate.
const MAX_INSTRUCTIONS: usize = 1 << 20;
/// Limit on scopes in scopes.
const MAX_SCOPES: usize = 1 << 16;
/// Limit on scopes in scopes that declare something, through all of which a name is looked up.
const MAX_DECLARING: usize = 64;

/// Names of registers that a scope declares.
#[derive(Default)]
pub(super) struct Scope {
    /// Single registers.
    pub(super) names: HashMap<String, Type>,
    /// `%r<10>`: prefix to count and type.
    pub(super) ranges: HashMap<String, Vec<(u64, Type)>>,
    /// Index of the scope among the function's.
    pub(super) index: u32,
    /// Registers of this scope already given an index in the function.
    pub(super) resolved: HashMap<String, u32>,
    /// Variables that shadow outer ones: the written name to the unique one.
    pub(super) renamed: HashMap<String, String>,
}

pub(super) struct Parser<'a> {
    tokens: Vec<(Token<'a>, u32)>,
    at: usize,
    pub(super) scopes: Vec<Scope>,
    /// Which of them declare something, outermost first.
    pub(super) declaring: Vec<usize>,
    pub(super) function: Function,
    /// Functions and variables of the module by name.
    functions: HashMap<String, usize>,
    variables: HashSet<String>,
    source: Option<(u32, u32)>,
    instructions: usize,
}

/// Parses a PTX text.
pub(crate) fn parse(text: &str) -> Result<Module, TextError> {
    let tokens = tokenize(text)?;
    let mut parser = Parser {
        tokens,
        at: 0,
        scopes: Vec::new(),
        declaring: Vec::new(),
        function: Function::default(),
        functions: HashMap::new(),
        variables: HashSet::new(),
        source: None,
        instructions: 0,
    };
    parser.module()
}

impl<'a> Parser<'a> {
    pub(super) fn line(&self) -> u32 {
        self.tokens.get(self.at.min(self.tokens.len().saturating_sub(1))).map_or(1, |t| t.1)
    }

    pub(super) fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).map(|t| t.0)
    }

    pub(super) fn peek_after(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at + 1).map(|t| t.0)
    }

    pub(super) fn next(&mut self) -> Result<Token<'a>, TextError> {
        let token = self.peek().ok_or_else(|| self.error("the text ends too early"))?;
        self.at += 1;
        Ok(token)
    }

    pub(super) fn error(&self, message: impl Into<String>) -> TextError {
        TextError::new(self.line(), message)
    }

    /// An error about the token just taken.
    pub(super) fn error_before(&self, message: impl Into<String>) -> TextError {
        let line = self.tokens.get(self.at.saturating_sub(1)).map_or(1, |t| t.1);
        TextError::new(line, message)
    }

    pub(super) fn eat(&mut self, symbol: char) -> bool {
        let found = self.peek() == Some(Token::Symbol(symbol));
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, symbol: char) -> Result<(), TextError> {
        if self.eat(symbol) {
            return Ok(());
        }
        let found = self.peek().map_or_else(|| "the end of the text".to_owned(), |t| t.to_string());
        Err(self.error(format!("expected `{symbol}`, found {found}")))
    }

    pub(super) fn word(&mut self) -> Result<&'a str, TextError> {
        match self.next()? {
            Token::Word(word) => Ok(word),
            other => Err(self.error_before(format!("expected a name, found {other}"))),
        }
    }

    pub(super) fn int(&mut self) -> Result<u64, TextError> {
        match self.next()? {
            Token::Int(value) => Ok(value),
            other => Err(self.error_before(format!("expected a number, found {other}"))),
        }
    }

    fn module(&mut self) -> Result<Module, TextError> {
        let mut module = Module::default();
        while let Some(token) = self.peek() {
            match token {
                Token::Word(".version" | ".target" | ".address_size") => self.header()?,
                Token::Word(".file") => self.file(&mut module)?,
                Token::Word(".section") => self.section()?,
                Token::Word(".pragma" | ".alias") => self.skip_statement()?,
                Token::Word(".loc") => self.loc()?,
                Token::Symbol(';') => self.at += 1,
                Token::Word(word) if word.starts_with('.') => self.top_level(&mut module)?,
                other => return Err(self.error(format!("unexpected {other} outside of a function"))),
            }
        }
        Ok(module)
    }

    fn header(&mut self) -> Result<(), TextError> {
        let line = self.line();
        match self.word()? {
            ".version" => {
                let _ = self.next()?;
            }
            ".address_size" => {
                if self.int()? != 64 {
                    return Err(TextError::new(line, "only 64-bit addresses are supported"));
                }
            }
            _ => loop {
                let _ = self.word()?;
                if !self.eat(',') {
                    break;
                }
            },
        }
        Ok(())
    }

    fn file(&mut self, module: &mut Module) -> Result<(), TextError> {
        self.at += 1;
        let index = self.int()? as u32;
        match self.next()? {
            Token::Text(name) => module.files.push((index, name.to_owned())),
            other => return Err(self.error_before(format!("expected a file name, found {other}"))),
        }
        while self.eat(',') {
            self.int()?;
        }
        Ok(())
    }

    /// Debug sections are skipped: `.section name { … }`.
    fn section(&mut self) -> Result<(), TextError> {
        self.at += 1;
        self.word()?;
        self.expect('{')?;
        while !self.eat('}') {
            self.next()?;
        }
        Ok(())
    }

    fn skip_statement(&mut self) -> Result<(), TextError> {
        while self.next()? != Token::Symbol(';') {}
        Ok(())
    }

    /// `.loc file line column [, function_name label[+n], inlined_at file line column]`.
    fn loc(&mut self) -> Result<(), TextError> {
        self.at += 1;
        let file = self.int()? as u32;
        let line = self.int()? as u32;
        self.int()?;
        self.source = Some((file, line));
        while self.eat(',') {
            match self.word()? {
                "function_name" => {
                    self.word()?;
                    if self.eat('+') {
                        self.int()?;
                    }
                }
                "inlined_at" => {
                    for _ in 0..3 {
                        self.int()?;
                    }
                }
                other => return Err(self.error_before(format!("unknown attribute `{other}` of .loc"))),
            }
        }
        Ok(())
    }

    fn top_level(&mut self, module: &mut Module) -> Result<(), TextError> {
        let mut external = false;
        loop {
            match self.peek() {
                Some(Token::Word(".extern")) => {
                    external = true;
                    self.at += 1;
                }
                Some(Token::Word(".visible" | ".weak" | ".common")) => self.at += 1,
                Some(Token::Word(".entry" | ".func")) => return self.function(module),
                _ => {
                    for variable in self.variable_statement(external)? {
                        if !self.variables.insert(variable.name.clone()) {
                            return Err(self.error_before(format!("`{}` is declared twice", variable.name)));
                        }
                        module.variables.push(variable);
                    }
                    return Ok(());
                }
            }
        }
    }

    fn function(&mut self, module: &mut Module) -> Result<(), TextError> {
        let line = self.line();
        let entry = self.word()? == ".entry";
        self.function = Function { entry, line, declared_only: true, scopes: vec![0], ..Function::default() };
        self.source = None;
        if let Some(Token::Word(".attribute")) = self.peek() {
            return Err(self.error("`.attribute` is not supported"));
        }
        if !entry && self.peek() == Some(Token::Symbol('(')) {
            self.function.returns = self.parameters()?;
        }
        self.word()?.clone_into(&mut self.function.name);
        if self.peek() == Some(Token::Symbol('(')) {
            self.function.params = self.parameters()?;
        }
        loop {
            match self.peek() {
                Some(Token::Word(".maxntid" | ".reqntid")) => {
                    self.at += 1;
                    let mut threads = self.int()?;
                    while self.eat(',') {
                        threads = threads.saturating_mul(self.int()?);
                    }
                    self.function.max_threads = threads;
                }
                Some(Token::Word(".noreturn" | ".explicitcluster" | ".blocksareclusters")) => self.at += 1,
                Some(Token::Word(
                    ".minnctapersm"
                    | ".maxnreg"
                    | ".maxnctapersm"
                    | ".maxclusterrank"
                    | ".abi_preserve"
                    | ".abi_preserve_control",
                )) => {
                    self.at += 1;
                    self.int()?;
                }
                Some(Token::Word(".reqnctapercluster")) => {
                    return Err(self.error("thread block clusters are not supported"));
                }
                Some(Token::Word(".pragma")) => self.skip_statement()?,
                Some(Token::Symbol(';')) => {
                    self.at += 1;
                    break;
                }
                Some(Token::Symbol('{')) => {
                    self.at += 1;
                    self.function.declared_only = false;
                    self.body()?;
                    break;
                }
                Some(other) => {
                    return Err(self.error(format!("unexpected {other} in the head of `{}`", self.function.name)));
                }
                None => return Err(self.error("the text ends inside a function's head")),
            }
        }
        let function = std::mem::take(&mut self.function);
        match self.functions.get(&function.name).and_then(|&at| module.functions.get_mut(at)) {
            Some(earlier) if earlier.declared_only => *earlier = function,
            Some(_) if function.declared_only => {}
            Some(_) => return Err(TextError::new(line, format!("`{}` is defined twice", function.name))),
            None => {
                self.functions.insert(function.name.clone(), module.functions.len());
                module.functions.push(function);
            }
        }
        Ok(())
    }

    fn body(&mut self) -> Result<(), TextError> {
        self.scopes = vec![Scope::default()];
        self.declaring.clear();
        while !self.scopes.is_empty() {
            match self.peek() {
                None => return Err(self.error(format!("the text ends inside `{}`", self.function.name))),
                Some(Token::Symbol('{')) => {
                    self.at += 1;
                    if self.scopes.len() >= MAX_SCOPES {
                        return Err(self.error_before("scopes are nested too deep"));
                    }
                    let parent = self.scopes.last().map_or(0, |s| s.index);
                    let index = self.function.scopes.len() as u32;
                    self.function.scopes.push(parent);
                    self.scopes.push(Scope { index, ..Scope::default() });
                }
                Some(Token::Symbol('}')) => {
                    self.at += 1;
                    self.scopes.pop();
                    self.declaring.pop_if(|scope| *scope == self.scopes.len());
                }
                Some(Token::Symbol(';')) => self.at += 1,
                Some(Token::Word(".reg")) => self.registers()?,
                Some(Token::Word(".loc")) => self.loc()?,
                Some(Token::Word(".pragma")) => self.skip_statement()?,
                Some(Token::Word(word)) if word.starts_with('.') => {
                    let variables = self.variable_statement(false)?;
                    self.declare(variables)?;
                }
                Some(Token::Word(label)) if self.peek_after() == Some(Token::Symbol(':')) => self.label(label)?,
                Some(Token::Word(_) | Token::Symbol('@')) => self.instruction()?,
                Some(other) => return Err(self.error(format!("unexpected {other} in `{}`", self.function.name))),
            }
        }
        Ok(())
    }

    /// Notes that the innermost scope declares something.
    pub(super) fn declares(&mut self) -> Result<(), TextError> {
        let scope = self.scopes.len().saturating_sub(1);
        if self.declaring.last() != Some(&scope) {
            if self.declaring.len() >= MAX_DECLARING {
                return Err(self.error("scopes with declarations are nested too deep"));
            }
            self.declaring.push(scope);
        }
        Ok(())
    }

    fn declare(&mut self, variables: Vec<Variable>) -> Result<(), TextError> {
        self.declares()?;
        for mut variable in variables {
            let scope = self.scopes.len() - 1;
            if self.scopes[scope].renamed.contains_key(&variable.name) {
                return Err(self.error_before(format!("`{}` is declared twice", variable.name)));
            }
            // Call sequences declare `param0` again and again, each in a scope of its own: the index keeps them apart.
            let unique = match variable.space {
                Space::Param | Space::Local if scope > 0 => format!("{}#{}", variable.name, self.scopes[scope].index),
                _ => variable.name.clone(),
            };
            self.scopes[scope].renamed.insert(std::mem::replace(&mut variable.name, unique.clone()), unique);
            self.function.variables.push(variable);
        }
        Ok(())
    }

    fn label(&mut self, label: &'a str) -> Result<(), TextError> {
        self.at += 2;
        if let Some(Token::Word(word @ (".branchtargets" | ".callprototype" | ".calltargets"))) = self.peek() {
            if word != ".branchtargets" {
                return Err(self.error(format!("indirect calls (`{word}`) are not supported")));
            }
            self.at += 1;
            let mut targets = vec![self.word()?.to_owned()];
            while self.eat(',') {
                targets.push(self.word()?.to_owned());
            }
            self.expect(';')?;
            self.function.branch_targets.insert(label.to_owned(), targets);
            return Ok(());
        }
        self.declares()?;
        let scope = self.scopes.last().map_or(0, |s| s.index);
        let target = self.function.body.len() as u32;
        if self.function.labels.insert((label.to_owned(), scope), target).is_some() {
            return Err(self.error_before(format!("label `{label}` is defined twice")));
        }
        Ok(())
    }

    fn instruction(&mut self) -> Result<(), TextError> {
        self.instructions += 1;
        if self.instructions > MAX_INSTRUCTIONS {
            return Err(self.error(format!("more than {MAX_INSTRUCTIONS} instructions")));
        }
        let line = self.line();
        let mut guard = None;
        if self.eat('@') {
            let negated = self.eat('!');
            let name = self.word()?;
            let register =
                self.register(name).ok_or_else(|| self.error_before(format!("`{name}` is not a register")))?;
            guard = Some((register, negated));
        }
        let opcode = self.word()?.to_owned();
        let mut operands = Vec::new();
        if !self.eat(';') {
            loop {
                operands.push(self.operand()?);
                if self.eat(',') {
                    continue;
                }
                self.expect(';')?;
                break;
            }
        }
        let scope = self.scopes.last().map_or(0, |s| s.index);
        self.function.body.push(Instruction { guard, opcode, operands, line, source: self.source, scope });
        Ok(())
    }
}
