//! Native files of agent loops to and from the core types. Text in, text out.
