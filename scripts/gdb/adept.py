# SPDX-License-Identifier: GPL-2.0-or-later
"""gdb commands for processes that Adept records.

	gdb -p PID -x scripts/gdb/adept.py -ex 'adept load'

adept load [ENGINE.ELF]	load the engine's symbols at its address, and unwind out of the cache
adept where [ADDRESS]	the program's address for one in the code cache, and the other way round
adept fragment [ADDRESS]	the fragment around an address, next to the program's code

ADDRESS is an expression; without one it is $pc.  `backtrace' shows the program's frames below the
one in the code cache or in the engine.

The engine's memory is not in core dumps, so this works with live processes only.
"""
import os
import re

import gdb
import gdb.unwinder
from gdb.FrameDecorator import FrameDecorator

# Only while gdb reads this file there is a __file__.
ELF = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../build/engine.elf")
REGS = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
        "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15")
ENGINE_BASE = 0x550000000000	# inject/memory_layout.c
COLD_OFFSET = 0x8000		# emit/fragment.h
NONE = 0xff			# X86_NONE
WITH_POS, WITH_ARG, WITH_ARGS = 0x20, 0x40, 0x80	# translate/state_table.c
STATE_NO_REG = 0x10
SYSCALL_LEN = 2
MASK = (1 << 64) - 1

BEFORE = ("RUN", "STORE", "MANGLE", "GS", "CALL", "CALL_TAG", "IND", "IND_TAG", "IND_CALL",
          "IND_CALL_TAG", "RET_IND", "RET_IND_TAG")
DONE = ("FOLLOWING", "DONE", "DONE_R15", "GS_DONE")


def memory(address, size):
    return gdb.selected_inferior().read_memory(address, size).tobytes()


def number(data):
    return int.from_bytes(data, "little")


def lengths(start, end):
    """Lengths of the instructions from start on, up to end."""
    arch = gdb.selected_inferior().architecture()
    return [i["length"] for i in arch.disassemble(start, end - 1)]


class Engine:
    """The engine in the process: its symbols, arenas and fragments."""

    def __init__(self, elf):
        self.pid = gdb.selected_inferior().pid
        self.base = self.find(elf)
        gdb.execute("with confirm off -- add-symbol-file %s -o %#x" % (elf, self.base),
                    to_string=True)
        self.objfile = [o for o in gdb.objfiles() if o.filename == elf][-1]
        boot = self.objfile.lookup_global_symbol("boot")
        self.block = boot.symtab.static_block()
        self.heap = int(boot.value()["heap"])
        self.size = int(boot.value()["image_size"])
        self.arenas = self.objfile.lookup_static_symbol("arenas")
        self.narenas = self.objfile.lookup_static_symbol("narenas")
        self.kinds = [f.name[len("STATE_"):] for f in self.type("enum state_kind").fields()]
        self.threads = [v for v in gdb.lookup_static_symbols("threads")
                        if v.type.code == gdb.TYPE_CODE_PTR][0]
        restorer = gdb.parse_and_eval("(long)&signal_restorer")
        self.restorer = range(int(restorer), int(restorer) + 16)
        syscall = [f.enumval for f in self.type("enum adept_exit_kind").fields()
                   if f.name == "ADEPT_X_SYSCALL"]
        self.exit_syscall = syscall[0]

    @staticmethod
    def find(elf):
        """The image: it begins with struct adept_boot, which has its own address."""
        with open("/proc/%d/maps" % gdb.selected_inferior().pid, encoding="utf-8") as maps:
            starts = [int(line.split("-")[0], 16) for line in maps]
        for start in starts:
            try:
                if start >= ENGINE_BASE and number(memory(start + 8, 8)) == start:
                    break
            except gdb.MemoryError:
                pass
        else:
            raise gdb.GdbError("there is no engine in process %d: it is not recorded" %
                               gdb.selected_inferior().pid)
        # .text is at 0x1e0 of the flat image; see image/engine.lds.
        with open(elf, "rb") as file:
            data = file.read()
        head = number(data[0x28:0x30])
        for i in range(number(data[0x3c:0x3e])):
            s = data[head + 64 * i:head + 64 * i + 64]
            flags, address, offset, size = (number(s[8 * k:8 * k + 8]) for k in range(1, 5))
            if flags == 6 and memory(start + address, size) != data[offset:offset + size]:
                raise gdb.GdbError("%s is not the engine of process %d: another build" %
                                   (elf, gdb.selected_inferior().pid))
        return start

    def type(self, name):
        if name.startswith("enum "):
            return gdb.lookup_type(name, self.block)
        return gdb.lookup_type("struct " + name, self.block)

    def read(self, name, address):
        """The integers of a structure, and its arrays of integers as lists."""
        kind = self.type(name)
        data = memory(address, kind.sizeof)
        out = {"address": address}
        for f in kind.fields():
            at, t = f.bitpos // 8, f.type.strip_typedefs()
            if t.code == gdb.TYPE_CODE_ARRAY and t.range()[1] >= 0 and \
                    t.target().strip_typedefs().code == gdb.TYPE_CODE_INT:
                each = t.target().sizeof
                out[f.name] = [number(data[i:i + each]) for i in range(at, at + t.sizeof, each)]
            else:
                out[f.name] = number(data[at:at + t.sizeof])
        return out

    def at(self, ref):
        return self.heap + 8 * ref

    def owner_of_stack(self, sp):
        """Address of the struct tls that has this signal stack, or None."""
        at = int(self.threads.value())
        while at:
            tls = self.read("tls", at)
            if tls["sig_stack"] <= sp < tls["sig_stack"] + tls["sig_stack_size"]:
                return at
            at = tls["next"]
        return None

    def all_arenas(self):
        arenas = self.arenas.value()
        return [arenas[i] for i in range(int(self.narenas.value()))]

    def arena_of(self, address):
        for a in self.all_arenas():
            if int(a["base"]) <= address < int(a["base"]) + int(a["size"]):
                return a
        return None

    def in_gate(self, address):
        """Is it in the assembly that enters and leaves the cache, and makes system calls?"""
        if not self.base <= address < self.base + self.size:
            return False
        symtab = gdb.find_pc_line(address).symtab
        return symtab is not None and symtab.filename.endswith(".S")

    def frags_of(self, arena):
        n, found = int(arena["nfrags"]), []
        while len(found) < n:
            block = int(arena["frags"][len(found) // 16384])
            data = memory(block, 4 * min(16384, n - len(found)))
            found += [number(data[i:i + 4]) for i in range(0, len(data), 4)]
        return [self.at(ref) for ref in found]

    def frag(self, address):
        f = self.read("frag", address)
        run = self.type("adept_run").sizeof
        at = address + self.type("frag").sizeof
        f["insns"] = []
        lens = memory(at + run * f["nruns"], f["ninsns"] + f["states_len"])
        for i in range(f["nruns"]):
            r = self.read("adept_run", at + run * i)
            pc = r["pc"]
            for _ in range(r["ninsns"]):
                size = lens[len(f["insns"])]
                f["insns"].append((pc, size))
                pc += size
            f["end"] = pc
        f.setdefault("end", f["pc"])
        f["states"] = self.states(lens[f["ninsns"]:])
        return f

    def states(self, packed):
        """The state translation table, as state_table.c unpacks it."""
        out, at = [], 0
        x = {"off": 0, "insn": 0, "nst": 0}
        while at < len(packed):
            x = dict(x)
            kind, step = packed[at:at + 2]
            at += 2
            x["kind"] = self.kinds[kind & (WITH_POS - 1)]
            x["off"] += step
            if step == 255:
                x["off"] = number(packed[at:at + 2])
                at += 2
            if kind & WITH_POS:
                x["insn"], x["nst"] = packed[at:at + 2]
                at += 2
            x["arg"] = x["arg2"] = x["arg3"] = NONE
            if kind & WITH_ARG:
                x["arg"] = packed[at]
                at += 1
            if kind & WITH_ARGS:
                x["arg2"], x["arg3"] = packed[at:at + 2]
                at += 2
            out.append(x)
        return out

    def frag_at(self, address):
        """The fragment that contains a cache address, or None."""
        arena = self.arena_of(address)
        if arena is None:
            return None
        frags = self.frags_of(arena)
        cold = address >= int(arena["base"]) + int(arena["size"]) // 8 * 5
        low, high = 0, len(frags)
        while low < high:
            mid = (low + high) // 2
            if self.read("frag", frags[mid])["cold" if cold else "start"] <= address:
                low = mid + 1
            else:
                high = mid
        if not low:
            return None
        f = self.frag(frags[low - 1])
        size = f["cold_len"] if cold else f["hot_len"]
        return f if address < f["cold" if cold else "start"] + size else None

    def versions(self, pc):
        """Live fragments that contain the instruction at pc, each with its index."""
        for arena in self.all_arenas():
            for at in self.frags_of(arena):
                f = self.frag(at)
                for i, insn in enumerate(f["insns"]):
                    if insn[0] == pc and not f["dead"]:
                        yield f, i


def place(f, off):
    return f["start"] + off if off < COLD_OFFSET else f["cold"] + off - COLD_OFFSET


def ends(f):
    """For each state of the fragment the address at which its code ends."""
    for i, x in enumerate(f["states"]):
        part = COLD_OFFSET if x["off"] >= COLD_OFFSET else 0
        end = f["cold"] + f["cold_len"] if part else f["start"] + f["hot_len"]
        if i + 1 < len(f["states"]) and (f["states"][i + 1]["off"] >= COLD_OFFSET) == bool(part):
            end = place(f, f["states"][i + 1]["off"])
        yield x, place(f, x["off"]), end


def rows(f):
    """(address, length, state, index of the instruction) of all code of the fragment."""
    for x, start, end in ends(f):
        if x["kind"] == "DATA" or start >= end:
            continue
        n, at = x["insn"], start
        for size in lengths(start, end):
            yield at, size, x, n
            at += size
            n += x["kind"] == "RUN"


def state_at(f, address):
    """The state of the code at a cache address, with the instruction there."""
    for at, size, x, n in rows(f):
        if at <= address < at + size:
            return dict(x, insn=n)
    return None


def insn_pc(f, n):
    return f["insns"][n][0] if n < len(f["insns"]) else f["end"]


def program_state(engine, f, x, r, tls):
    """The program's pc and registers, as os/bailout.c computes them."""
    r = dict(r)
    kind, rcx = x["kind"], r["rcx"]
    r["r15"] = tls["app_r15"]
    if kind in ("MANGLE",) + DONE[:3]:
        if kind == "DONE_R15":
            r["r15"] = r[REGS[x["arg"]]]
        for k, arg in enumerate((x["arg"], x["arg2"], x["arg3"])):
            if arg != NONE and not (k == 2 and arg & STATE_NO_REG):
                r[REGS[arg & 15]] = tls["spill"][k]
    if kind in ("GS", "GS_DONE"):
        r[REGS[x["arg2"]]] -= tls["app_gs_base"]
        r[REGS[x["arg"]]] = tls["spill"][0]
    if kind.startswith("RET_IND") or kind == "RET_RCX":
        r["rcx"] = tls["ind"][0]
    elif kind.startswith("IND") or kind in ("RET", "RET_SWAPPED", "AT_RCX") or \
            kind.startswith("LAND"):
        r["rcx"], r["rdx"] = tls["ind"]
    if kind in ("CALL", "CALL_TAG", "IND_CALL", "IND_CALL_TAG", "CALLED", "RET_RCX",
                "ENTRY_CALL", "LAND_CALL"):
        r["rsp"] += 8
    if kind in ("RET", "RET_SWAPPED"):
        r["rsp"] += 8 + x["arg2"] + 256 * x["arg3"]
    if kind in BEFORE:
        pc = insn_pc(f, x["insn"])
    elif kind in DONE:
        pc = insn_pc(f, x["insn"] + 1)
    elif kind in ("EXIT", "EXIT_TAG", "EXIT_DONE", "CALLED"):
        size = engine.type("exit").sizeof
        e = engine.read("exit", engine.at(f["exits"]) + size * x["arg"])
        pc = e["target"] - (SYSCALL_LEN if e["kind"] == engine.exit_syscall else 0)
    elif kind in ("RET_RCX", "RET", "RET_SWAPPED", "AT_RCX", "LAND", "LAND_CALL"):
        pc = rcx
    elif kind == "LAND_LOOP":
        pc = rcx - 1 + f["pc"]
    elif kind == "LAND_CMP":
        pc = rcx + f["pc"]
    else:
        pc = f["pc"]
    return pc & MASK, {name: value & MASK for name, value in r.items()}


ENGINE = None


def engine():
    if ENGINE is None or ENGINE.pid != gdb.selected_inferior().pid:
        raise gdb.GdbError("the engine's symbols are not loaded: `adept load' does that")
    return ENGINE


def loaded():
    return ENGINE is not None and ENGINE.pid == gdb.selected_inferior().pid


class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


def interrupted(sp):
    """pc and registers in the frame of the kernel's that a handler returns to."""
    names = ("r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rdi", "rsi", "rbp", "rbx",
             "rdx", "rax", "rcx", "rsp", "rip")
    data = memory(sp + 40, 8 * len(names))
    regs = {name: number(data[8 * i:8 * i + 8]) for i, name in enumerate(names)}
    return regs.pop("rip"), regs


class Unwinder(gdb.unwinder.Unwinder):
    """From a frame in the code cache, or in a gate of the engine, to the program's frame.

    From the engine's signal handler to what it has interrupted.

    gdb takes the pc of an outer frame for a return address, and looks at the one before it.  So
    the pc here is one more than the program's; `backtrace' subtracts it again (Frame below).
    """

    def __init__(self):
        super().__init__("adept")

    @staticmethod
    def thread_block(pending):
        return ENGINE.read("tls", int(pending.read_register("gs_base")) & MASK)

    @classmethod
    def from_cache(cls, pending, pc):
        """The program's pc and registers, or None outside of a fragment."""
        f = ENGINE.frag_at(pc)
        x = state_at(f, pc) if f else None
        if x is None:
            return None
        regs = {name: int(pending.read_register(name)) & MASK for name in REGS}
        return program_state(ENGINE, f, x, regs, cls.thread_block(pending))

    @classmethod
    def from_gate(cls, pending):
        tls = cls.thread_block(pending)
        return tls["resume_pc"], dict(zip(REGS, tls["regs"]))

    def __call__(self, pending):
        if not loaded():
            return None
        pc = int(pending.read_register("rip")) & MASK
        gs_base = None
        if pc in ENGINE.restorer:
            sp = int(pending.read_register("rsp")) & MASK
            to, regs = interrupted(sp)
            found = to - 1, regs
            # The engine's frames do not pass gs_base on to those below.
            gs_base = ENGINE.owner_of_stack(sp)
        elif ENGINE.arena_of(pc) is not None:
            found = self.from_cache(pending, pc)
        elif ENGINE.in_gate(pc):
            found = self.from_gate(pending)
        else:
            found = None
        if found is None:
            return None
        to, regs = found
        info = pending.create_unwind_info(FrameId(gdb.Value(regs["rsp"]), gdb.Value(pc)))
        for name in REGS:
            like = pending.read_register(name)
            info.add_saved_register(name, gdb.Value(regs[name]).cast(like.type))
        info.add_saved_register("rip", gdb.Value(to + 1).cast(pending.read_register("rip").type))
        if gs_base is not None:
            long_type = gdb.lookup_type("unsigned long")
            info.add_saved_register("gs_base", gdb.Value(gs_base).cast(long_type))
        return info


class Frame(FrameDecorator):
    """A frame in `backtrace': names the code cache, and corrects the address below it."""

    def __init__(self, base):
        super().__init__(base)
        self.frame = base.inferior_frame()

    def function(self):
        if ENGINE.arena_of(self.frame.pc()) is not None:
            return "[code cache]"
        return super().function()

    def address(self):
        newer = self.frame.newer()
        inside = newer is not None and newer.type() != gdb.INLINE_FRAME and \
            newer.pc() not in ENGINE.restorer and \
            (ENGINE.arena_of(newer.pc()) is not None or ENGINE.in_gate(newer.pc()))
        return super().address() - (1 if inside else 0)


class Filter:
    name, priority, enabled = "adept", 100, True

    def filter(self, frames):
        return map(Frame, frames) if loaded() else frames


def symbol(address):
    """FUNCTION+OFFSET at FILE:LINE, as far as it is known."""
    text = gdb.execute("info symbol %#x" % address, to_string=True).split(" in section")[0]
    if text.startswith("No symbol"):
        text = "??"
    text = re.sub(r" \+ (\d+)", r"+\1", text.strip())
    line = gdb.find_pc_line(address)
    if line.symtab is not None:
        text += " at %s:%d" % (line.symtab.filename, line.line)
    return text


def disassembly(address):
    return gdb.selected_inferior().architecture().disassemble(address)[0]["asm"]


def address_of(arg):
    value = gdb.parse_and_eval(arg or "$pc")
    if value.type.code == gdb.TYPE_CODE_FUNC:
        value = value.address
    return int(value) & MASK


def current_registers(address):
    """Registers and thread block, if the selected thread is at this address; else None."""
    frame = gdb.newest_frame()
    if frame.pc() != address:
        return None, None
    return ({name: int(frame.read_register(name)) & MASK for name in REGS},
            engine().read("tls", int(frame.read_register("gs_base")) & MASK))


class Adept(gdb.Command):
    """Commands for processes that Adept records."""

    def __init__(self):
        super().__init__("adept", gdb.COMMAND_USER, prefix=True)


class Load(gdb.Command):
    """adept load [ENGINE.ELF]: load the engine's symbols; default: this tree's build/engine.elf"""

    def __init__(self):
        super().__init__("adept load", gdb.COMMAND_FILES, gdb.COMPLETE_FILENAME)

    def invoke(self, arg, _from_tty):
        global ENGINE
        if not gdb.selected_inferior().pid:
            raise gdb.GdbError("there is no process; the engine's memory is not in core dumps")
        ENGINE = Engine(os.path.realpath(arg or ELF))
        gdb.invalidate_cached_frames()
        print("engine at %#x" % ENGINE.base)


class Where(gdb.Command):
    """adept where [ADDRESS]: from the code cache to the program, or back."""

    def __init__(self):
        super().__init__("adept where", gdb.COMMAND_STATUS, gdb.COMPLETE_EXPRESSION)

    def invoke(self, arg, _from_tty):
        address = address_of(arg)
        if engine().arena_of(address) is not None:
            self.from_cache(address)
            return
        found = False
        for f, n in engine().versions(address):
            for at, _, x, i in rows(f):
                if i == n and x["kind"] in BEFORE + DONE:
                    found = True
                    print("program %#x %s: cache %#x, fragment %d" %
                          (address, symbol(address), at, f["first_exit"]))
                    break
        if not found:
            print("program %#x %s: not translated" % (address, symbol(address)))

    @staticmethod
    def from_cache(address):
        f = engine().frag_at(address)
        x = state_at(f, address) if f else None
        if x is None:
            print("cache %#x: no code of a fragment, stub or landing" % address)
            return
        regs, tls = current_registers(address)
        if regs:
            pc = program_state(engine(), f, x, regs, tls)[0]
        else:
            pc = insn_pc(f, x["insn"]) if f["insns"] else f["pc"]
        print("cache %#x: %s of fragment %d, program %#x %s" %
              (address, x["kind"], f["first_exit"], pc, symbol(pc)))


class Fragment(gdb.Command):
    """adept fragment [ADDRESS]: the code of the fragment at a cache or program address."""

    def __init__(self):
        super().__init__("adept fragment", gdb.COMMAND_STATUS, gdb.COMPLETE_EXPRESSION)

    def invoke(self, arg, _from_tty):
        address = address_of(arg)
        f = engine().frag_at(address)
        found = [f] if f else [f for f, _ in engine().versions(address)]
        if not found:
            raise gdb.GdbError("no fragment has code at %#x" % address)
        for f in found:
            self.show(f, address)

    @staticmethod
    def show(f, address):
        print("fragment %d at %#x %s%s" % (f["first_exit"], f["pc"], symbol(f["pc"]),
                                           ", removed" if f["dead"] else ""))
        shown = -1
        for at, size, x, n in rows(f):
            left = ""
            if x["kind"] in BEFORE + DONE and n > shown and n < len(f["insns"]):
                shown = n
                left = "%14x  %s" % (f["insns"][n][0], disassembly(f["insns"][n][0]))
            mark = "=>" if at <= address < at + size else "  "
            print("%-58s |%s %-10s %x  %s" % (left, mark, x["kind"], at, disassembly(at)))


Adept()
Load()
Where()
Fragment()
gdb.unwinder.register_unwinder(None, Unwinder(), replace=True)
gdb.frame_filters[Filter.name] = Filter()
