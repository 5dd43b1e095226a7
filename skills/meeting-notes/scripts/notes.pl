#!/usr/bin/env perl
# Finds what minutes should hold, and checks minutes against their source. Needs nothing but perl-base.
use strict;
use warnings;
use utf8;
use Getopt::Long qw(GetOptionsFromArray :config no_ignore_case);
use List::Util qw(max min);

my $USAGE = <<'END';
usage: notes.pl candidates SOURCE [--top N]
       notes.pl check MINUTES --source SOURCE

candidates lists the numbered lines of a transcript that look like decisions, actions, questions, risks, dates and
figures, and who spoke (- reads standard input).
check tests that each item of the minutes cites lines of the source, as in [L12] or [L12-L14], and that owners,
dates and figures come from there. It exits with 1 when something is wrong.
END

my $DAY = qr/(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|tue|wed|thu|fri)\b/i;
my $MONTH = qr/(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)/i;
my $DATE = qr/\b(?:\d{4}-\d\d-\d\d|\d{1,2}[.\/]\d{1,2}(?:[.\/]\d{2,4})?|\d{1,2}(?:st|nd|rd|th)?\s+(?:of\s+)?$MONTH|$MONTH\s+\d{1,2}(?:st|nd|rd|th)?|(?:next|this|end of(?: the)?|eo)\s?(?:week|month|quarter|year|day|sprint|$DAY)|eod|eow|q[1-4]|today|tonight|tomorrow|(?:on|by|until|before|till)\s+$DAY|$DAY)\b/i;
my @KINDS = (
    [decision => qr/\bdecisions?\s*:|\b(?:decided|we decide|agreed|settled on|approved|rejected|signed off|go(?:ing)? with|let'?s (?:go|do|use|take|keep|drop)|final answer|we(?:'ll| will) (?:use|keep|drop|ship|launch|move|stay|postpone|cancel))\b/i],
    [action   => qr/\b(?:action(?: item)?s?|todo|to-do|task|ai)\s*:|^\s*[-*]?\s*\[ \]|\b(?:i|he|she|they|we|[A-Z]\w+)(?:'ll| will| can| is going to| are going to|'m going to)\s+(?!use|keep|be\b)[a-z]|\b(?:can|could|would) you\b|\b(?:should|must|needs? to|has to|have to)\s+[a-z]|\bplease\b|\b(?:let me|i'?d be happy to|i(?: can)? take|assigned to|follow up|owner)\b/i],
    [question => qr/\?\s*$|\b(?:open question|unclear|not sure|don'?t know|tbd|to be (?:decided|confirmed|clarified)|no idea|parking lot|wonder)\b/i],
    [risk     => qr/\b(?:risk|blocked|blocker|concern(?:ed)?|worr(?:y|ied)|depends on|dependency|deadline|slip(?:s|ped)?|at stake|problem)\b/i],
);

binmode STDOUT, ':utf8';
binmode STDERR, ':utf8';
@ARGV = map { utf8::decode($_); $_ } @ARGV;
my $command = shift @ARGV // '';
if ($command =~ /^(?:-h|--help|help)$/) { print $USAGE; exit 0 }
my %option = (top => 40);
{
    local $SIG{__WARN__} = sub { my $text = lcfirst shift; chomp $text; usage($text) };
    GetOptionsFromArray(\@ARGV, \%option, 'help', 'top=i', 'source=s');
}
if ($option{help}) { print $USAGE; exit 0 }
usage('give one file') if $command =~ /^(?:candidates|check)$/ && @ARGV != 1;
if    ($command eq 'candidates') { candidates(read_lines($ARGV[0])) }
elsif ($command eq 'check')      { usage('check needs --source FILE') if !defined $option{source}; check($ARGV[0], read_lines($ARGV[0]), read_lines($option{source})) }
else                             { usage("unknown command '$command'") }

# --- candidates ---

sub candidates {
    my $lines = shift;
    my (%found, %dates, %figures, %spoken);
    my $speaker;
    for my $number (1 .. $#$lines) {
        my $line = $lines->[$number];
        next if $line !~ /\S/ || is_frame($line);
        my ($name, $text) = split_speaker($line);
        $speaker = $name if defined $name;
        $spoken{$speaker}++ if defined $speaker;
        next if $text !~ /\S/;
        for my $kind (@KINDS) { push @{ $found{ $kind->[0] } }, $number if $text =~ $kind->[1] }
        $dates{ lc $1 } //= $number while $text =~ /($DATE)/g;
        $figures{$1} //= $number while $text =~ /((?:[\$€£]\s?\d[\d.,]*\s?[kKmM]?\b|\b\d[\d.,]*\s?(?:%|percent|k\b|m\b|million|thousand|hours?|days?|weeks?|months?|people|users|customers)))/g;
    }
    my @names = sort { $spoken{$b} <=> $spoken{$a} || $a cmp $b } keys %spoken;
    print $#$lines, ' lines; spoke: ', @names ? join(', ', map { "$_ ($spoken{$_})" } @names[0 .. min($#names, 29)]) : 'no names found', "\n";
    for my $kind (map { $_->[0] } @KINDS) {
        my @numbers = @{ $found{$kind} // [] };
        print "\n", ucfirst $kind, 's (', scalar @numbers, ")\n";
        print map { sprintf "  L%-4d %s\n", $_, cut($lines->[$_], 200) } @numbers[0 .. min($#numbers, $option{top} - 1)];
        print '  ', @numbers - $option{top}, " more (--top)\n" if @numbers > $option{top};
    }
    print_places('Dates', \%dates);
    print_places('Figures', \%figures);
}

sub print_places {
    my ($title, $places) = @_;
    my @sorted = sort { $places->{$a} <=> $places->{$b} || $a cmp $b } keys %$places;
    print "\n$title (", scalar @sorted, ")\n";
    print '  ', join(', ', map { "$_ (L$places->{$_})" } @sorted[0 .. min($#sorted, $option{top} - 1)]), "\n" if @sorted;
}

# Numbers, times and headers of caption files.
sub is_frame { return $_[0] =~ /^\s*(?:WEBVTT.*|\d+|NOTE\b.*|(?:\d\d:)?\d\d:\d\d[.,]\d{3} -->.*)$/ }

sub split_speaker {
    my $line = shift;
    return ($1, $2) if $line =~ /^\s*<v(?:\.\w+)? ([^>]+)>(.*?)(?:<\/v>)?$/;
    my $clock = qr/[\[(]?\d{1,2}:\d\d(?::\d\d)?(?:\s?[AaPp][Mm])?[\])]?/;
    my $name  = qr/[\p{Lu}@][\p{L}\p{N}.'_-]*(?: [\p{Lu}][\p{L}.'-]*){0,3}/;
    return ($1, '') if $line =~ /^\s*($name)\s+$clock\s*$/;
    return ($1, $2) if $line =~ /^\s*(?:$clock\s*[-–]?\s*)?($name)\s*(?:$clock)?\s*:\s+(.*)$/
        && $1 !~ /^(?:Action|Actions|Decision|Decisions|Todo|TODO|Note|Notes|Question|Agenda|Summary|Present|Date|Owner|AI|Task|Risk|Http|Https)$/;
    return (undef, $line);
}

# --- check ---

sub check {
    my ($path, $minutes, $source) = @_;
    my $everything = join "\n", @$source[1 .. $#$source];
    my ($section, %items, @faults) = ('');
    for my $number (1 .. $#$minutes) {
        my $line = $minutes->[$number];
        if ($line =~ /^##\s+(.+?)\s*$/) { $section = lc $1; $items{$section} //= 0; next }
        next if $section !~ /^(?:decisions|actions|open questions)$/ || $line !~ /\S/ || $line =~ /^\s*-?\s*none\.?\s*$/i;
        my $fault = sub { push @faults, "$path:$number: $_[0]" };
        if ($line !~ /^- /) { $fault->('not an item; begin it with "- ", or move it to the summary'); next }
        $items{$section}++;
        $fault->("an action reads: - [ ] OWNER: TASK \x{2014} due WHEN [L1] (or: \x{2014} no date)")
            if $section eq 'actions' && $line !~ /^- \[[ x]\] [^:]+: .+ [\x{2014}\x{2013}-]+ (?:due \S.*|no date) \[L/;
        my ($cited, $problem) = cited_text($line, $source);
        if (defined $problem) { $fault->($problem); next }
        check_owner($line, $everything, $fault) if $section eq 'actions';
        check_facts($line, $cited, $fault);
    }
    for my $needed ('decisions', 'actions', 'open questions') {
        push @faults, "$path: the section ## " . ucfirst $needed . ' is missing' if !exists $items{$needed};
    }
    if (@faults) { print map { "$_\n" } @faults; print scalar @faults, @faults == 1 ? " fault\n" : " faults\n"; exit 1 }
    print 'sound: ', join(', ', map { "$items{$_} $_" } 'decisions', 'actions', 'open questions'), "; all cite their source\n";
}

# The lines of the source that an item cites, or what is wrong with its citations.
sub cited_text {
    my ($line, $source) = @_;
    my @groups = $line =~ /\[(L[\dL,\s–-]+)\]/g;
    return (undef, 'no line of the source is cited, as in [L12]') if !@groups;
    my @text;
    for my $part (map { split /\s*,\s*/ } @groups) {
        my ($from, $to) = $part =~ /^\s*L?(\d+)(?:\s*[-–]\s*L?(\d+))?\s*$/ or return (undef, "[$part] is no citation like [L12] or [L12-L14]");
        $to //= $from;
        return (undef, "[$part] is not in the source, which has $#$source lines") if $from < 1 || $to > $#$source || $to < $from;
        return (undef, "[$part] spans more than 30 lines; cite the ones that say it") if $to - $from > 30;
        push @text, @$source[$from .. $to];
    }
    return (undef, 'the cited lines are empty') if !grep { /\S/ } @text;
    return (join("\n", @text), undef);
}

sub check_owner {
    my ($line, $everything, $fault) = @_;
    my ($owners) = $line =~ /^- \[[ x]\] ([^:]+):/ or return;
    for my $owner (split /\s*(?:,|&| and )\s*/, $owners) {
        next if $owner =~ /^nobody yet$/i;
        my ($first) = split ' ', $owner;
        $fault->("the source does not name $owner; write nobody yet") if $everything !~ /(?<![\p{L}\p{N}])\Q$first\E(?![\p{L}\p{N}])/i;
    }
}

# Dates and figures must come from the cited lines. A calendar date may stand for a relative one there.
sub check_facts {
    my ($line, $cited, $fault) = @_;
    (my $text = $line) =~ s/\[L[^\]]*\]//g;
    if ($text =~ /\bdue (.+?)\s*$/) {
        my $due = $1;
        my $said = $cited =~ $DATE || index(lc $cited, lc $due) >= 0;
        $fault->("the cited lines name no date, so due $due is invented; write no date") if !$said;
    }
    $text =~ s/\bdue .+$//;
    $text =~ s/\b\d{4}-\d\d-\d\d\b//g;
    (my $plain = $cited) =~ s/(?<=\d)[.,](?=\d{3}\b)//g;
    while ($text =~ /(?<![\p{L}\d.])(\d[\d.,]*\d)(?![\p{L}\d])/g) {
        my $figure = $1;
        (my $same = $figure) =~ s/(?<=\d)[.,](?=\d{3}\b)//g;
        $fault->("the figure $figure is not in the cited lines") if $plain !~ /(?<!\d)\Q$same\E(?!\d)/;
    }
}

# --- files ---

# Lines from 1 on, so that an index is a line number.
sub read_lines {
    my $path = shift;
    my $handle = \*STDIN;
    if ($path ne '-') {
        fail("$path is a folder") if -d $path;
        open $handle, '<', $path or fail("cannot read $path: $!");
    }
    binmode $handle;
    my @lines = ('');
    while (defined(my $line = readline $handle)) {
        $line =~ s/^\xEF\xBB\xBF// if $. == 1;
        utf8::decode($line);
        $line =~ s/\s+\z//;
        push @lines, $line;
    }
    fail("$path is empty") if @lines == 1;
    return \@lines;
}

sub cut { my ($text, $length) = @_; return length $text > $length ? substr($text, 0, $length - 1) . "\x{2026}" : $text }

sub usage { print STDERR "notes.pl: $_[0]; see notes.pl --help\n"; exit 2 }

sub fail { print STDERR "notes.pl: $_[0]\n"; exit 1 }
